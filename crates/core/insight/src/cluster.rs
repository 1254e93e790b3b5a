//! What a cluster said about itself at one moment.

use fairway_api::{ClusterOperator, ClusterVersion, OperatorCondition};
use jiff::{SignedDuration, Timestamp};

use crate::age::time;
use crate::alerts::Alerts;
use crate::objects::{MachineConfig, MachineConfigPool, Node};

/// What a cluster said about itself.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The version, the history, and what is asked for.
    pub version: ClusterVersion,
    /// The components of the platform.
    pub operators: Vec<ClusterOperator>,
    /// The pools of nodes; none where nodes are not configured by the platform.
    pub pools: Vec<MachineConfigPool>,
    /// At least the configurations that nodes have or are to have.
    pub configs: Vec<MachineConfig>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The image of the operator that configures nodes, where it is known.
    pub node_operator_image: Option<String>,
    /// What is firing.
    pub alerts: Alerts,
}

/// The time that a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The cluster was asked now.
    Live(Timestamp),
    /// It was recorded about then.
    Recorded(Timestamp),
}

/// A recording is read a moment after the last thing that happened in it.
const MOMENT_AFTER: SignedDuration = SignedDuration::from_nanos(368_975);

impl Moment {
    /// When a recording was made: just after the last change of a condition of the cluster's
    /// version or of an operator. Nodes and alerts do not count.
    pub fn of_recording(version: &ClusterVersion, operators: &[ClusterOperator]) -> Self {
        let of_version = version.status.iter().flat_map(|status| &status.conditions);
        let of_operators =
            operators.iter().filter_map(|one| one.status.as_ref()).flat_map(|one| &one.conditions);
        let mut now = Timestamp::UNIX_EPOCH;
        for changed in of_version.chain(of_operators).filter_map(changed) {
            if changed > now {
                now = changed.checked_add(MOMENT_AFTER).unwrap_or(changed);
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
    fn a_recording_ends_just_after_the_last_condition_changed() {
        let version = cluster_version("5.1.0", at(0));
        let later = operator("etcd", "5.1.0", &[("Available", "True", at(100))]);
        let Moment::Recorded(now) = Moment::of_recording(&version, &[later]) else { panic!() };
        assert_eq!(now, at(100).checked_add(MOMENT_AFTER).unwrap());
        let nothing = Moment::of_recording(&ClusterVersion::default(), &[]);
        assert_eq!(nothing.now(), Timestamp::UNIX_EPOCH);
    }
}
