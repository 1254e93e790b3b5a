//! What was asked for, and what comes of it, for people and for programs.

use std::fmt;

use fairway_api::cluster_version::{Release, Update};
use fairway_api::version::Move;
use fairway_risk::Terms;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::risks::Exposure;
use super::super::terms::AfterName;
use super::answer::{Answer, State};
use super::shown::Shown;
use super::unusual::Unusual;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// What was asked for, and what comes of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Whether it was only tried.
    pub(super) dry_run: bool,
    pub(super) action: Action,
    /// The release that it is about.
    pub(super) release: Option<Named>,
    /// The version that the cluster had, or was on its way to.
    pub(super) from: Option<String>,
    /// What kind of step it is from there.
    pub(super) step: Option<Move>,
    /// What is unusual about it.
    pub(super) unusual: Vec<Unusual>,
    /// Whether signature, guards and risks are waived.
    pub(super) force: bool,
    /// The risks that are accepted now and were not before.
    pub(super) accepted: Vec<Accepted>,
    /// All that is accepted now.
    pub(super) accept_risks: Vec<String>,
    /// How far the cluster is, where it is on its way to that release already.
    pub(super) progress: Option<String>,
    /// What the operator says; nothing where that was not waited for.
    pub(super) answer: Option<Answer>,
    /// Whether what was waited for did not happen in time.
    pub(super) timed_out: bool,
    /// What may not be what was meant.
    pub(super) warnings: Vec<String>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// An update was asked for.
    Requested,
    /// It was asked for before.
    AlreadyRequested,
    /// The release before was asked for.
    RolledBack,
    /// The same version was asked for, for several architectures.
    RequestedMultiArch,
    /// That was asked for before.
    AlreadyRequestedMultiArch,
    /// The cluster has several architectures.
    AlreadyMultiArch,
    /// The cluster has the release, or is on its way to it.
    AlreadyThere,
    /// There is no later release.
    Latest,
    /// A request was withdrawn for the release that the cluster is at.
    Cleared,
    /// A request was withdrawn for a release that the cluster is on its way to.
    Withdrawn,
    /// A request was withdrawn for another one.
    Cancelled,
    /// A request was withdrawn for the same version, for several architectures.
    CancelledMultiArch,
    /// A preflight is asked for no more.
    CancelledPreflight,
    /// No update was asked for.
    NothingToClear,
}

/// A release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(in super::super) struct Named {
    pub(in super::super) version: Option<String>,
    pub(in super::super) image: Option<String>,
}

/// A risk that is accepted now.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Accepted {
    #[serde(flatten)]
    pub(super) risk: Shown,
    pub(super) terms: Terms,
}

impl Outcome {
    /// An outcome about which there is nothing else to say.
    pub(super) fn new(action: Action) -> Self {
        Self {
            dry_run: false,
            action,
            release: None,
            from: None,
            step: None,
            unusual: Vec::new(),
            force: false,
            accepted: Vec::new(),
            accept_risks: Vec::new(),
            progress: None,
            answer: None,
            timed_out: false,
            warnings: Vec::new(),
        }
    }

    /// Whether the operator has something to say to it.
    pub(super) fn awaits_an_answer(&self) -> bool {
        matches!(
            self.action,
            Action::Requested
                | Action::AlreadyRequested
                | Action::RolledBack
                | Action::RequestedMultiArch
                | Action::AlreadyRequestedMultiArch
        )
    }

    /// Whether the cluster is on its way there, whoever asked for it.
    pub(super) fn is_under_way(&self) -> bool {
        self.action == Action::AlreadyThere && self.progress.is_some()
    }

    /// How the command ends.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match &self.answer {
            None => ExitStatus::Yes,
            Some(_) if self.timed_out => ExitStatus::TimedOut,
            Some(answer) => answer.exit_status(),
        }
    }
}

impl Named {
    /// The release of a request.
    pub(in super::super) fn asked(update: &Update) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self { version: owned(update.version()), image: owned(update.image()) }
    }

    /// A release.
    pub(in super::super) fn of(release: &Release) -> Self {
        let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Self { version: known(&release.version), image: known(&release.image) }
    }

    /// How people call it.
    pub(in super::super) fn name(&self) -> &str {
        self.version.as_deref().or(self.image.as_deref()).unwrap_or("no release")
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            f.write_str("Dry run, nothing changed. Without --dry-run:\n\n")?;
        }
        let name = self.release.as_ref().map_or("", Named::name);
        let release = OneLine(name);
        match self.action {
            Action::Requested => write!(f, "Requested update to {release}")?,
            Action::AlreadyRequested => write!(f, "An update to {release} is already requested")?,
            Action::RolledBack => {
                let from = self.from.as_deref().unwrap_or_default();
                write!(f, "Requested rollback from {} to {release}", OneLine(from))?;
            }
            Action::RequestedMultiArch => {
                f.write_str("Requested update to multi cluster architecture")?;
            }
            Action::AlreadyRequestedMultiArch => {
                f.write_str("Update to multi cluster architecture has already been requested")?;
            }
            Action::AlreadyMultiArch => {
                f.write_str("Cluster already has the multi cluster architecture")?;
            }
            Action::AlreadyThere => match &self.progress {
                None => write!(f, "Cluster is already at version {release}")?,
                // The answer tells how far it is.
                Some(_) if self.answer.is_some() => {
                    write!(f, "An update to {release} is already in progress")?;
                }
                Some(progress) => {
                    write!(
                        f,
                        "An update to {release} is already in progress: {}",
                        OneLine(progress)
                    )?;
                }
            },
            Action::Latest => {
                write!(f, "Cluster is already at the latest available version {release}")?;
            }
            Action::Cleared => write!(f, "Cleared the update field, still at {release}")?,
            Action::Withdrawn => write!(f, "Withdrew the request for {release}")?,
            Action::Cancelled => write!(f, "Cancelled requested upgrade to {release}")?,
            Action::CancelledMultiArch => {
                f.write_str("Cancelled requested update to multi cluster architecture")?;
            }
            Action::CancelledPreflight => {
                write!(f, "Cancelled requested preflight of {release}")?;
            }
            Action::NothingToClear => f.write_str("No update is requested")?,
        }
        self.accepted.iter().try_for_each(|accepted| write!(f, "\n\n{accepted}"))?;
        let Some(answer) = &self.answer else { return Ok(()) };
        write!(f, "\n\n{answer}")?;
        match answer.state {
            State::Accepted | State::Started if self.timed_out => f.write_str(
                "\nThe update is still in progress. Show its state with\n  fairway upgrade status",
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { risk, terms } = self;
        write!(f, "Accepted: {risk}{}", AfterName(terms))?;
        for text in [&risk.message, &risk.url].into_iter().flatten() {
            write!(f, "\n  {}", OneLine(text))?;
        }
        Ok(())
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exposure = match self.exposure {
            Exposure::Applies => "applies",
            Exposure::DoesNotApply => "does not apply",
            Exposure::Unknown | Exposure::NotPublished => "may apply",
        };
        write!(f, "{} ({exposure})", OneLine(&self.name))
    }
}
