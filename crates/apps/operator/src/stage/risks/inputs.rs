//! Inputs of the stage.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_api::{ClusterOperator, ClusterVersion, ClusterVersionStatus, ConditionStatus};
use fairway_risk::{ANNOTATION, Acceptance, CandidateUpdate, ReportedRisk};
use fairway_watch::{StaleWatch, StaleWatches};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use tokio::sync::watch;

use super::concerns::{self, ClusterState};
use super::queries::Alerts;
use crate::cluster::{Objects, only, watch_name};
use crate::own_release::OwnRelease;
use crate::stage::preflight::{Preflight, PreflightOutcome};
use crate::stage::rollout::Rollout;
use crate::stage::updates::Updates;

/// Receivers of all inputs.
pub(crate) struct Inputs {
    pub(crate) own: Arc<OwnRelease>,
    pub(crate) cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    pub(crate) cluster_operators: watch::Receiver<Option<Objects<ClusterOperator>>>,
    pub(crate) admin_gates: watch::Receiver<Option<Objects<ConfigMap>>>,
    pub(crate) admin_acks: watch::Receiver<Option<Objects<ConfigMap>>>,
    /// Stale watches: their objects are unknown.
    pub(crate) stale: watch::Receiver<StaleWatches>,
    pub(crate) updates: watch::Receiver<Option<Arc<Updates>>>,
    pub(crate) preflight: watch::Receiver<Option<Arc<Preflight>>>,
    pub(crate) rollout: watch::Receiver<Option<Arc<Rollout>>>,
    /// Objects that the rollout was deleting at the last read.
    pub(crate) deleting: Vec<String>,
    /// Alerts of the status when this operator started. They apply until the alerts are read, even if
    /// the status changes meanwhile.
    pub(crate) remembered_alerts: Option<Vec<ReportedRisk>>,
}

/// The latest values of all inputs.
pub(super) struct View {
    /// Generation of ClusterVersion that all inputs are about.
    pub(super) generation: i64,
    /// Version of the accepted release.
    pub(super) current: String,
    /// Whether the update graph has the updates from that version: the operator retrieves it for its
    /// own version.
    pub(super) is_answered: bool,
    pub(super) cluster_version: Arc<ClusterVersion>,
    pub(super) updates: Arc<Updates>,
    pub(super) acceptance: Acceptance,
    /// Offered releases, and releases with a preflight.
    pub(super) candidates: Vec<CandidateUpdate>,
    /// Preflight results by image.
    pub(super) preflight_results: BTreeMap<String, PreflightOutcome>,
    pub(super) concerns: Vec<ReportedRisk>,
}

impl Inputs {
    /// Reads the latest values. Returns `None` until all are known; after the grace period, missing
    /// values become risks instead.
    pub(super) fn read(&mut self, alerts: &Alerts, grace_period_over: bool) -> Option<View> {
        let cluster_version = self.cluster_version.borrow_and_update().clone();
        let operators = self.cluster_operators.borrow_and_update().clone();
        let gates = self.admin_gates.borrow_and_update().clone();
        let acks = self.admin_acks.borrow_and_update().clone();
        let stale_watches = self.stale.borrow_and_update().clone();
        let updates = self.updates.borrow_and_update().clone();
        let preflight = self.preflight.borrow_and_update().clone();
        self.deleting = deleting(self.rollout.borrow_and_update().as_deref());
        let cluster_version = Arc::clone(only(cluster_version.as_ref())?);
        let status = cluster_version.status.as_ref();
        let remembered =
            self.remembered_alerts.get_or_insert_with(|| concerns::remembered_alerts(status));
        let updates = updates?;
        let all_seen =
            operators.is_some() && gates.is_some() && acks.is_some() && preflight.is_some();
        if !all_seen && !grace_period_over {
            return None;
        }
        let alerts = match alerts {
            Alerts::Known(alerts) => alerts,
            Alerts::Pending | Alerts::Unknown => remembered,
        };
        let current = current(status, &self.own.release.version).to_owned();
        let operators = known(operators.as_ref(), stale_watches.get(watch_name::CLUSTER_OPERATORS));
        let gates = known(gates.as_ref(), stale_watches.get(watch_name::ADMIN_GATES));
        let acks = known(acks.as_ref(), stale_watches.get(watch_name::ADMIN_ACKS));
        let state = ClusterState {
            cluster_version: &cluster_version,
            operators: operators.as_ref().copied().map_err(String::as_str),
            admin_gates: gates.as_ref().copied().map_err(String::as_str),
            admin_acks: acks.as_ref().copied().map_err(String::as_str),
            alerts,
            deleting: &self.deleting,
        };
        let annotation = cluster_version.annotations().get(ANNOTATION).map(String::as_str);
        let desired = cluster_version.spec.desired_update.as_ref();
        let generation = cluster_version.metadata.generation.unwrap_or_default();
        let preflight = preflight.as_deref();
        let here = status.and_then(|status| status.history.first());
        let here = here.map(|newest| newest.image.as_str());
        let mut concerns = concerns::collect(&current, state);
        concerns.extend(concerns::of_preflight(preflight, &updates.candidates));
        Some(View {
            generation: generation
                .min(updates.generation)
                .min(preflight.map_or(generation, |preflight| preflight.generation)),
            acceptance: Acceptance::read(desired, annotation),
            candidates: concerns::candidates(&updates.candidates, preflight, here),
            preflight_results: preflight
                .map(|preflight| preflight.outcomes.clone())
                .unwrap_or_default(),
            concerns,
            is_answered: updates.retrieved.status == ConditionStatus::True
                && current == self.own.release.version,
            current,
            cluster_version,
            updates,
        })
    }

    /// Waits for a change; `false` if a sender is gone.
    pub(super) async fn changed(&mut self) -> bool {
        // Of a rollout, only the deleted objects matter; its progress must not wake the stage.
        let before = &self.deleting;
        let is_news = |rollout: &Option<Arc<Rollout>>| deleting(rollout.as_deref()) != *before;
        tokio::select! {
            changed = self.cluster_version.changed() => changed.is_ok(),
            changed = self.cluster_operators.changed() => changed.is_ok(),
            changed = self.admin_gates.changed() => changed.is_ok(),
            changed = self.admin_acks.changed() => changed.is_ok(),
            changed = self.stale.changed() => changed.is_ok(),
            changed = self.updates.changed() => changed.is_ok(),
            changed = self.preflight.changed() => changed.is_ok(),
            changed = self.rollout.wait_for(is_news) => changed.is_ok(),
        }
    }
}

/// The objects of a watch, or why they are unknown: it has no list after the grace period, or its last
/// state is too old to act on.
fn known<'a, T>(seen: Option<&'a T>, stale: Option<&StaleWatch>) -> Result<&'a T, String> {
    match (seen, stale) {
        (_, Some(stale)) => Err(stale.to_string()),
        (Some(seen), None) => Ok(seen),
        (None, None) => Err("see the operator log".to_owned()),
    }
}

/// Objects of `delete` manifests that still exist.
fn deleting(rollout: Option<&Rollout>) -> Vec<String> {
    rollout.iter().flat_map(|rollout| &rollout.deleting).map(ToString::to_string).collect()
}

/// The version from which updates start: that of the last rollout. A cluster that updates to a
/// minor version may still choose another patch release of it.
fn current<'a>(status: Option<&'a ClusterVersionStatus>, own: &'a str) -> &'a str {
    let begun = status.and_then(|status| status.history.first()?.version.as_deref());
    begun.filter(|version| !version.is_empty()).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::UpdateHistory;

    use super::*;

    #[test]
    fn objects_of_stale_watch_are_unknown() {
        let stale = StaleWatch {
            name: watch_name::CLUSTER_OPERATORS.to_owned(),
            since: "2026-01-01T00:00:00Z".parse().unwrap(),
            error: Some("forbidden".to_owned()),
        };
        assert_eq!(known(Some(&7), None), Ok(&7));
        let why = |seen, stale| known::<i32>(seen, stale).unwrap_err();
        insta::assert_snapshot!(why(Some(&7), Some(&stale)), @"the watch of clusteroperators is stale since 2026-01-01T00:00:00Z: forbidden");
        assert_eq!(why(None, Some(&stale)), why(Some(&7), Some(&stale)));
        insta::assert_snapshot!(why(None, None), @"see the operator log");
    }

    #[test]
    fn current_is_version_of_newest_history_entry() {
        let begun = |version: Option<&str>| ClusterVersionStatus {
            history: vec![UpdateHistory {
                version: version.map(str::to_owned),
                ..UpdateHistory::default()
            }],
            ..ClusterVersionStatus::default()
        };
        for (status, expected) in [
            (None, "5.0.0"),
            (Some(ClusterVersionStatus::default()), "5.0.0"),
            (Some(begun(None)), "5.0.0"),
            (Some(begun(Some(""))), "5.0.0"),
            (Some(begun(Some("5.1.0"))), "5.1.0"),
        ] {
            assert_eq!(current(status.as_ref(), "5.0.0"), expected);
        }
    }
}
