//! What was asked for, and what comes of it, for people and for programs.

use std::fmt;

use fairway_api::cluster_version::{Release, Update};
use fairway_api::version::Move;
use fairway_risk::Terms;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::risks::Exposure;
use super::super::terms::AfterName;
use super::answer::{RequestStatus, State};
use super::shown::Shown;
use super::unusual::UpdateCaution;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// Result of an update request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Whether this is a dry run.
    pub(super) dry_run: bool,
    /// What the command did.
    pub(super) action: Action,
    /// Release of the request.
    pub(super) release: Option<Named>,
    /// Version of the cluster, or of the rollout in progress, before the request.
    pub(super) from: Option<String>,
    /// Kind of version change.
    pub(super) step: Option<Move>,
    /// Properties of the update that need attention.
    pub(super) cautions: Vec<UpdateCaution>,
    /// Whether signature, preconditions and risks are waived.
    pub(super) force: bool,
    /// Newly accepted risks.
    pub(super) accepted: Vec<Accepted>,
    /// Names of all accepted risks: `spec.desiredUpdate.acceptRisks`.
    pub(super) accept_risks: Vec<String>,
    /// Message of the condition `Progressing`, if the rollout of the release is in progress.
    pub(super) progress: Option<String>,
    /// Status of the request, `null` if the command did not wait for the operator.
    pub(super) status: Option<RequestStatus>,
    /// Whether the command stopped waiting before the requested state.
    pub(super) timed_out: bool,
    /// Probable mistakes in the arguments.
    pub(super) warnings: Vec<String>,
}

/// What the command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// Requested an update.
    Requested,
    /// Nothing: the update was already requested.
    AlreadyRequested,
    /// Requested the previous release.
    RolledBack,
    /// Requested the same version for several architectures.
    RequestedMultiArch,
    /// Nothing: several architectures were already requested.
    AlreadyRequestedMultiArch,
    /// Nothing: the cluster already has several architectures.
    AlreadyMultiArch,
    /// Nothing: the cluster has the release, or its rollout is in progress.
    AlreadyCurrent,
    /// Nothing: there is no later release.
    Latest,
    /// Withdrew a request for the current release.
    Cleared,
    /// Withdrew a request for a release whose rollout is in progress.
    Withdrawn,
    /// Withdrew a request for another release.
    Cancelled,
    /// Withdrew a request for several architectures.
    CancelledMultiArch,
    /// Withdrew a preflight request.
    CancelledPreflight,
    /// Nothing: no update was requested.
    NoRequest,
}

/// Version and image of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(in super::super) struct Named {
    /// Version of the release, if known.
    pub(in super::super) version: Option<String>,
    /// Image of the release, if known.
    pub(in super::super) image: Option<String>,
}

/// Newly accepted risk.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Accepted {
    #[serde(flatten)]
    pub(super) risk: Shown,
    /// Terms of the acceptance.
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
            cautions: Vec::new(),
            force: false,
            accepted: Vec::new(),
            accept_risks: Vec::new(),
            progress: None,
            status: None,
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
        self.action == Action::AlreadyCurrent && self.progress.is_some()
    }

    /// How the command ends.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match &self.status {
            None => ExitStatus::Success,
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
            Action::AlreadyCurrent => match &self.progress {
                None => write!(f, "Cluster is already at version {release}")?,
                // The answer tells how far it is.
                Some(_) if self.status.is_some() => {
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
            Action::NoRequest => f.write_str("No update is requested")?,
        }
        self.accepted.iter().try_for_each(|accepted| write!(f, "\n\n{accepted}"))?;
        let Some(answer) = &self.status else { return Ok(()) };
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
            Exposure::Exposed => "applies",
            Exposure::NotExposed => "does not apply",
            Exposure::Unknown | Exposure::NotReported => "may apply",
        };
        write!(f, "{} ({exposure})", OneLine(&self.name))
    }
}
