//! Objects of a cluster and the time of their observation.

use fairway_api::{ClusterOperator, ClusterVersion, OperatorCondition};
use jiff::{SignedDuration, Timestamp};

use crate::alerts::Alerts;
use crate::objects::{MachineConfig, MachineConfigPool, Node};
use crate::text::time;

/// Objects of a cluster that the status of an update uses.
#[derive(Clone, Debug)]
pub struct ClusterObjects {
    /// ClusterVersion.
    pub version: ClusterVersion,
    /// ClusterOperators.
    pub operators: Vec<ClusterOperator>,
    /// `MachineConfigPools`; empty if the platform does not configure nodes.
    pub pools: Vec<MachineConfigPool>,
    /// `MachineConfigs`, at least those that nodes use.
    pub configs: Vec<MachineConfig>,
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Image of the machine-config operator, if known.
    pub node_operator_image: Option<String>,
    /// Alerts.
    pub alerts: Alerts,
}

/// Time that a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservationTime {
    /// The cluster was read at this time.
    Live(Timestamp),
    /// The recording was made at about this time.
    Recorded(Timestamp),
}

/// Time between the latest change in a recording and its observation, as in the recordings of `oc
/// adm upgrade status`.
const RECORDING_DELAY: SignedDuration = SignedDuration::from_nanos(368_975);

impl ObservationTime {
    /// Time of a recording: just after the latest transition of a condition of ClusterVersion or of
    /// a ClusterOperator. Nodes and alerts do not count.
    pub fn of_recording(version: &ClusterVersion, operators: &[ClusterOperator]) -> Self {
        let of_version = version.status.iter().flat_map(|status| &status.conditions);
        let of_operators =
            operators.iter().filter_map(|one| one.status.as_ref()).flat_map(|one| &one.conditions);
        let mut now = Timestamp::UNIX_EPOCH;
        for changed in of_version.chain(of_operators).filter_map(changed) {
            if changed > now {
                now = changed.checked_add(RECORDING_DELAY).unwrap_or(changed);
            }
        }
        Self::Recorded(now)
    }

    /// The time.
    pub fn now(self) -> Timestamp {
        match self {
            Self::Live(now) | Self::Recorded(now) => now,
        }
    }
}

fn changed(condition: &OperatorCondition) -> Option<Timestamp> {
    time(condition.last_transition_time.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::tests::{at, cluster_version, operator};

    #[test]
    fn of_recording_is_just_after_latest_transition() {
        let version = cluster_version("5.1.0", at(0));
        let later = operator("etcd", "5.1.0", &[("Available", "True", at(100))]);
        let ObservationTime::Recorded(now) = ObservationTime::of_recording(&version, &[later])
        else {
            panic!()
        };
        assert_eq!(now, at(100).checked_add(RECORDING_DELAY).unwrap());
        let nothing = ObservationTime::of_recording(&ClusterVersion::default(), &[]);
        assert_eq!(nothing.now(), Timestamp::UNIX_EPOCH);
    }
}
