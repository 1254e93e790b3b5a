//! What was asked for, and what comes of it, for people and for programs.

use std::fmt;

use fairway_api::cluster_version::{Release, Update};
use fairway_risk::Terms;
use serde::Serialize;

use super::super::risks::Exposure;
use super::super::terms::AfterName;
use super::answer::Answer;
use super::shown::Shown;
use crate::foreign_text::OneLine;

/// What was asked for, and what comes of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// Whether it was only tried.
    pub(super) dry_run: bool,
    pub(super) action: Action,
    /// The release that it is about.
    pub(super) release: Option<Named>,
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
    /// What may not be what was meant.
    pub(super) warnings: Vec<String>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// An update was asked for.
    Requested,
    /// It was asked for before.
    AlreadyRequested,
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
    /// No update was asked for.
    NothingToClear,
}

/// A release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in super::super) struct Named {
    pub(in super::super) version: Option<String>,
    pub(in super::super) image: Option<String>,
}

/// A risk that is accepted now.
#[derive(Debug, Serialize)]
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
            force: false,
            accepted: Vec::new(),
            accept_risks: Vec::new(),
            progress: None,
            answer: None,
            warnings: Vec::new(),
        }
    }

    /// Whether the operator has something to say to it.
    pub(super) fn awaits_an_answer(&self) -> bool {
        matches!(self.action, Action::Requested | Action::AlreadyRequested)
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
            f.write_str("Nothing was changed; without --dry-run it would be:\n\n")?;
        }
        let name = self.release.as_ref().map_or("", Named::name);
        let release = OneLine(name);
        match self.action {
            Action::Requested => write!(f, "Requested update to {release}")?,
            Action::AlreadyRequested => write!(f, "An update to {release} is requested already")?,
            Action::AlreadyThere => match &self.progress {
                None => write!(f, "Cluster is already at version {release}")?,
                Some(progress) => {
                    write!(f, "Cluster is on its way to {release} already: {}", OneLine(progress))?;
                }
            },
            Action::Latest => {
                write!(f, "Cluster is already at the latest available version {release}")?;
            }
            Action::Cleared => write!(f, "Cleared the update field, still at {release}")?,
            Action::Withdrawn => write!(f, "Withdrew the request for {release}")?,
            Action::Cancelled => write!(f, "Cancelled requested upgrade to {release}")?,
            Action::NothingToClear => f.write_str("No update is requested")?,
        }
        self.accepted.iter().try_for_each(|accepted| write!(f, "\n\n{accepted}"))?;
        match &self.answer {
            Some(answer) => write!(f, "\n\n{answer}"),
            None => Ok(()),
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
