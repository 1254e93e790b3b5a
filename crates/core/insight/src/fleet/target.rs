//! Report on the update of one cluster to one version.

use fairway_api::cluster_version::UpdateState;
use fairway_api::reason::progressing;
use fairway_api::{ClusterVersionStatus, Version};
use fairway_risk::Acceptance;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::cluster::Blocker;
use super::{ClusterSnapshot, Preflight, Readiness};
use crate::recommend::Target;

/// Update of one cluster to one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TargetReport {
    /// Target version.
    pub version: String,
    /// State of the update in ClusterVersion.
    pub verdict: TargetState,
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
pub enum TargetState {
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

/// State of a cluster that all targets share.
pub(super) struct TargetContext<'a> {
    pub(super) snapshot: &'a ClusterSnapshot,
    pub(super) status: &'a ClusterVersionStatus,
    pub(super) acceptance: &'a Acceptance,
    pub(super) blockers: &'a [Blocker],
    /// Whether the list of updates is complete, so that an unlisted version is not offered.
    pub(super) updates_retrieved: bool,
}

impl TargetContext<'_> {
    /// Reports on a version; `update` is the listed update.
    pub(super) fn report(&self, version: &str, update: Option<&Target>) -> TargetReport {
        let verdict = self.verdict(version, update);
        let blockers: Vec<&Blocker> = self.blocking(verdict).collect();
        let preflight = self.snapshot.preflights.iter().find(|one| one.version == version).cloned();
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

    fn verdict(&self, version: &str, update: Option<&Target>) -> TargetState {
        let newest = self.status.history.first();
        let is_complete = newest.is_none_or(|newest| newest.state == UpdateState::Completed);
        let at = &self.status.desired.version;
        match update.map(|update| update.recommended.as_str()) {
            _ if at == version && is_complete => TargetState::Current,
            _ if at == version => TargetState::InProgress,
            Some("True") => TargetState::Recommended,
            Some("False") => TargetState::NotRecommended,
            None if is_later(at, version) => TargetState::Older,
            None if self.updates_retrieved => TargetState::NotOffered,
            Some(_) | None => TargetState::Unknown,
        }
    }

    /// Blockers of an update. An update in progress does not block itself, and a reached version
    /// needs no update.
    fn blocking(&self, verdict: TargetState) -> impl Iterator<Item = &Blocker> {
        let is_over = matches!(verdict, TargetState::Current | TargetState::Older);
        let is_itself = move |blocker: &Blocker| {
            verdict == TargetState::InProgress && blocker.name == progressing::TYPE
        };
        let counting =
            self.blockers.iter().filter(|blocker| blocker.readiness() > Readiness::Ready);
        counting.filter(move |blocker| !is_over && !is_itself(blocker))
    }

    /// Unaccepted risks of an update.
    fn unaccepted(&self, update: &Target) -> Vec<String> {
        let now: Timestamp = self.snapshot.now;
        // The definition only decides whether the risk has changed since its acceptance.
        let acceptance_state = |name: &str| self.acceptance.state(name, &update.version, "", now);
        let open = update.risks.iter().filter(|name| !acceptance_state(name).is_accepted());
        open.cloned().collect()
    }
}

/// Readiness for an update, including blockers and preflight findings.
fn readiness(
    verdict: TargetState,
    blockers: &[&Blocker],
    preflight: Option<&Preflight>,
) -> Readiness {
    let of_verdict = match verdict {
        TargetState::Current | TargetState::Older => return Readiness::Ready,
        TargetState::Recommended | TargetState::InProgress => Readiness::Ready,
        TargetState::NotRecommended | TargetState::NotOffered => Readiness::Blocked,
        TargetState::Unknown => Readiness::Unknown,
    };
    let of_blockers = blockers.iter().map(|blocker| blocker.readiness()).max();
    let found = preflight.is_some_and(|preflight| !preflight.findings.is_empty());
    let of_preflight = if found { Readiness::Blocked } else { Readiness::Ready };
    of_verdict.max(of_blockers.unwrap_or(Readiness::Ready)).max(of_preflight)
}

fn is_later(at: &str, version: &str) -> bool {
    let parsed = Version::parse(at).ok().zip(Version::parse(version).ok());
    parsed.is_some_and(|(at, version)| at > version)
}
