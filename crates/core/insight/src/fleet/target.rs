//! Whether one cluster may update to one version.

use fairway_api::cluster_version::UpdateState;
use fairway_api::reason::progressing;
use fairway_api::{ClusterVersionStatus, Version};
use fairway_risk::Acceptance;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::blockers::{Blocker, Scope};
use super::preflight::Preflight;
use super::{Answer, Said};
use crate::recommend::Target;

/// What is known about one cluster and one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetReport {
    /// The version.
    pub version: String,
    /// What the cluster itself says about an update to it.
    pub verdict: Verdict,
    /// Whether the cluster may go there now, all considered.
    pub answer: Answer,
    /// One word for why it is not recommended.
    pub reason: Option<String>,
    /// The same for people.
    pub message: Option<String>,
    /// The risks that apply, or may, and are not accepted.
    pub risks: Vec<String>,
    /// The names of what stands in the way of this update and any other.
    pub blocked_by: Vec<String>,
    /// What that release found in the cluster; nothing where it was not asked.
    pub preflight: Option<Preflight>,
}

/// What a cluster says about an update to a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It is recommended.
    Recommended,
    /// It is not.
    NotRecommended,
    /// It is not known whether a risk applies, or which updates there are.
    Unknown,
    /// There is no such update.
    NotOffered,
    /// The cluster is there.
    AlreadyThere,
    /// The cluster is at a later version.
    AlreadyLater,
    /// The cluster is on its way there.
    UnderWay,
}

/// What is known about a cluster, whatever the version.
pub(super) struct Ground<'a> {
    pub(super) said: &'a Said,
    pub(super) status: &'a ClusterVersionStatus,
    pub(super) acceptance: &'a Acceptance,
    pub(super) blockers: &'a [Blocker],
    /// Whether what is not listed is not offered.
    pub(super) updates_known: bool,
}

impl Ground<'_> {
    /// What is known about a version; `update` is what the cluster lists about it.
    pub(super) fn report(&self, version: &str, update: Option<&Target>) -> TargetReport {
        let verdict = self.verdict(version, update);
        let blockers: Vec<&Blocker> = self.blocking(verdict).collect();
        let preflight = self.said.preflights.iter().find(|one| one.version == version).cloned();
        let against = update.filter(|update| !update.is_recommended());
        TargetReport {
            version: version.to_owned(),
            verdict,
            answer: answer(verdict, &blockers, preflight.as_ref()),
            reason: against.and_then(|update| update.reason.clone()),
            message: against.and_then(|update| update.message.clone()),
            risks: against.map(|update| self.unaccepted(update)).unwrap_or_default(),
            blocked_by: blockers.iter().map(|blocker| blocker.name.clone()).collect(),
            preflight,
        }
    }

    fn verdict(&self, version: &str, update: Option<&Target>) -> Verdict {
        let newest = self.status.history.first();
        let is_complete = newest.is_none_or(|newest| newest.state == UpdateState::Completed);
        let at = &self.status.desired.version;
        match update.map(|update| update.recommended.as_str()) {
            _ if at == version && is_complete => Verdict::AlreadyThere,
            _ if at == version => Verdict::UnderWay,
            Some("True") => Verdict::Recommended,
            Some("False") => Verdict::NotRecommended,
            None if is_later(at, version) => Verdict::AlreadyLater,
            None if self.updates_known => Verdict::NotOffered,
            Some(_) | None => Verdict::Unknown,
        }
    }

    /// What stands in the way. An update is not in its own, and whoever is there needs none.
    fn blocking(&self, verdict: Verdict) -> impl Iterator<Item = &Blocker> {
        let is_over = matches!(verdict, Verdict::AlreadyThere | Verdict::AlreadyLater);
        let is_itself = move |blocker: &Blocker| {
            verdict == Verdict::UnderWay && blocker.name == progressing::TYPE
        };
        let counting = self.blockers.iter().filter(|blocker| blocker.answer() > Answer::Yes);
        counting.filter(move |blocker| !is_over && !is_itself(blocker))
    }

    /// The risks of an update that are not accepted.
    fn unaccepted(&self, update: &Target) -> Vec<String> {
        let now: Timestamp = self.said.now;
        // What a risk says decides only whether it has changed since it was accepted.
        let standing = |name: &str| self.acceptance.standing(name, &update.version, "", now);
        let open = update.risks.iter().filter(|name| !standing(name).is_accepted());
        open.cloned().collect()
    }
}

/// Whether a cluster may go there, all considered.
fn answer(verdict: Verdict, blockers: &[&Blocker], preflight: Option<&Preflight>) -> Answer {
    let of_verdict = match verdict {
        Verdict::AlreadyThere | Verdict::AlreadyLater => return Answer::Yes,
        Verdict::Recommended | Verdict::UnderWay => Answer::Yes,
        Verdict::NotRecommended | Verdict::NotOffered => Answer::No,
        Verdict::Unknown => Answer::CannotTell,
    };
    let of_blockers = blockers.iter().map(|blocker| blocker.answer()).max();
    let found = preflight.is_some_and(|preflight| !preflight.findings.is_empty());
    let of_preflight = if found { Answer::No } else { Answer::Yes };
    of_verdict.max(of_blockers.unwrap_or(Answer::Yes)).max(of_preflight)
}

impl Blocker {
    /// What it says to any update.
    pub(super) fn answer(&self) -> Answer {
        match (self.blocks, self.certain) {
            (Scope::OtherMinorVersions, _) => Answer::Yes,
            (Scope::AllUpdates, true) => Answer::No,
            (Scope::AllUpdates, false) => Answer::CannotTell,
        }
    }
}

fn is_later(at: &str, version: &str) -> bool {
    let parsed = Version::parse(at).ok().zip(Version::parse(version).ok());
    parsed.is_some_and(|(at, version)| at > version)
}
