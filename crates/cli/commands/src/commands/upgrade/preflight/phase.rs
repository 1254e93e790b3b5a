//! How far the preflight is that is asked for.

use fairway_api::reason::preflight_running;
use fairway_api::{ClusterVersion, ConditionStatus, Conditions as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::author::condition_is_current;

/// Phase of the requested preflight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Phase {
    /// The operator does not support preflights.
    Unsupported,
    /// No preflight is requested.
    NotRequested,
    /// The operator has not observed the request.
    Pending,
    /// The operator retrieves, verifies and starts the release.
    Starting,
    /// The checks run for the first time.
    Checking,
    /// The preflight restarts on another node.
    Restarting,
    /// All checks have completed once, and run again when the cluster changes.
    Monitoring,
    /// The operator has stopped the preflight.
    Stopped,
    /// The operator cannot start the preflight.
    Held,
}

impl Phase {
    /// What a ClusterVersion says.
    pub(super) fn of(cluster_version: &ClusterVersion) -> Self {
        let asked = cluster_version.spec.desired_update.as_ref();
        let status = cluster_version.status.as_ref();
        let Some((status, running)) = status
            .and_then(|status| Some((status, status.conditions.find(preflight_running::TYPE)?)))
        else {
            return Self::Unsupported;
        };
        if asked.is_none_or(|asked| asked.mode.is_none()) {
            return Self::NotRequested;
        }
        if Some(status.observed_generation) < cluster_version.metadata.generation {
            return Self::Pending;
        }
        let reason = running.reason.as_deref().unwrap_or_default();
        let phases = [
            (preflight_running::NOT_REQUESTED, Self::Pending),
            (preflight_running::STARTING, Self::Starting),
            (preflight_running::CHECKING, Self::Checking),
            (preflight_running::MONITORING, Self::Monitoring),
            (preflight_running::RESTARTING, Self::Restarting),
            (preflight_running::STOPPED, Self::Stopped),
            (preflight_running::HELD, Self::Held),
        ];
        let known = phases.into_iter().find(|(known, _)| known.code == reason);
        match known {
            Some((_, phase)) => phase,
            None if running.status == ConditionStatus::True => Self::Checking,
            None => Self::Stopped,
        }
    }

    /// Whether nothing more comes by itself unless the cluster changes: asking again gives news.
    pub(super) fn is_through(self) -> bool {
        matches!(self, Self::Monitoring | Self::Stopped)
    }

    /// Whether answers are still to come.
    pub(super) fn is_under_way(self) -> bool {
        matches!(self, Self::Pending | Self::Starting | Self::Checking | Self::Restarting)
    }
}

/// Whether the operator of a cluster knows preflights: it always says whether one is running.
pub(super) fn is_supported(cluster_version: &ClusterVersion) -> bool {
    Phase::of(cluster_version) != Phase::Unsupported && condition_is_current(cluster_version)
}
