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
use super::{Readiness, Said};
use crate::recommend::Target;

/// Update of one cluster to one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetReport {
    /// Target version.
    pub version: String,
    /// State of the update in ClusterVersion.
    pub verdict: Verdict,
    /// Whether the cluster can update to this version now.
    pub readiness: Readiness,
    /// Reason why the update is not recommended, one CamelCase word.
    pub reason: Option<String>,
    /// Human-readable details.
    pub message: Option<String>,
    /// Names of unaccepted risks that apply or may apply.
    pub risks: Vec<String>,
    /// Names of the blockers of the cluster that block this update.
    pub blocker_names: Vec<String>,
    /// Preflight of the release, `null` if it was not requested.
    pub preflight: Option<Preflight>,
}

/// State of an update in ClusterVersion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The update is recommended.
    Recommended,
    /// The update is not recommended.
    NotRecommended,
    /// A risk could not be evaluated, or the updates could not be retrieved.
    Unknown,
    /// The update service does not offer the update.
    NotOffered,
    /// The cluster has this version.
    Current,
    /// The target is older than the version of the cluster.
    Older,
    /// The update is in progress.
    InProgress,
}

/// What is known about a cluster, whatever the version.
pub(super) struct Ground<'a> {
    pub(super) said: &'a Said,
    pub(super) status: &'a ClusterVersionStatus,
    pub(super) acceptance: &'a Acceptance,
    pub(super) blockers: &'a [Blocker],
    /// Whether what is not listed is not offered.
    pub(super) updates_retrieved: bool,
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
            readiness: readiness(verdict, &blockers, preflight.as_ref()),
            reason: against.and_then(|update| update.reason.clone()),
            message: against.and_then(|update| update.message.clone()),
            risks: against.map(|update| self.unaccepted(update)).unwrap_or_default(),
            blocker_names: blockers.iter().map(|blocker| blocker.name.clone()).collect(),
            preflight,
        }
    }

    fn verdict(&self, version: &str, update: Option<&Target>) -> Verdict {
        let newest = self.status.history.first();
        let is_complete = newest.is_none_or(|newest| newest.state == UpdateState::Completed);
        let at = &self.status.desired.version;
        match update.map(|update| update.recommended.as_str()) {
            _ if at == version && is_complete => Verdict::Current,
            _ if at == version => Verdict::InProgress,
            Some("True") => Verdict::Recommended,
            Some("False") => Verdict::NotRecommended,
            None if is_later(at, version) => Verdict::Older,
            None if self.updates_retrieved => Verdict::NotOffered,
            Some(_) | None => Verdict::Unknown,
        }
    }

    /// What stands in the way. An update is not in its own, and whoever is there needs none.
    fn blocking(&self, verdict: Verdict) -> impl Iterator<Item = &Blocker> {
        let is_over = matches!(verdict, Verdict::Current | Verdict::Older);
        let is_itself = move |blocker: &Blocker| {
            verdict == Verdict::InProgress && blocker.name == progressing::TYPE
        };
        let counting =
            self.blockers.iter().filter(|blocker| blocker.readiness() > Readiness::Ready);
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
fn readiness(verdict: Verdict, blockers: &[&Blocker], preflight: Option<&Preflight>) -> Readiness {
    let of_verdict = match verdict {
        Verdict::Current | Verdict::Older => return Readiness::Ready,
        Verdict::Recommended | Verdict::InProgress => Readiness::Ready,
        Verdict::NotRecommended | Verdict::NotOffered => Readiness::Blocked,
        Verdict::Unknown => Readiness::Unknown,
    };
    let of_blockers = blockers.iter().map(|blocker| blocker.readiness()).max();
    let found = preflight.is_some_and(|preflight| !preflight.findings.is_empty());
    let of_preflight = if found { Readiness::Blocked } else { Readiness::Ready };
    of_verdict.max(of_blockers.unwrap_or(Readiness::Ready)).max(of_preflight)
}

impl Blocker {
    /// What it says to any update.
    pub(super) fn readiness(&self) -> Readiness {
        match (self.scope, self.certain) {
            (Scope::OtherMinorVersions, _) => Readiness::Ready,
            (Scope::AllUpdates, true) => Readiness::Blocked,
            (Scope::AllUpdates, false) => Readiness::Unknown,
        }
    }
}

fn is_later(at: &str, version: &str) -> bool {
    let parsed = Version::parse(at).ok().zip(Version::parse(version).ok());
    parsed.is_some_and(|(at, version)| at > version)
}
