//! Components of the platform, and whether they have the release.

use fairway_api::reason::cluster_operator::{available, degraded, progressing};
use fairway_api::{
    ClusterOperator, ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition,
};

use crate::cluster::ClusterObjects;

/// Component that configures nodes; it is done when all nodes are.
pub(super) const NODE_OPERATOR: &str = "machine-config";

/// Annotations of objects of a release. Other ClusterOperators do not belong to the platform.
const RELEASE_ANNOTATIONS: [&str; 2] =
    ["include.release.openshift.io/", "exclude.release.openshift.io/"];

/// Component of the platform.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operator<'a> {
    pub(super) name: &'a str,
    pub(super) available: Option<&'a OperatorCondition>,
    pub(super) progressing: Option<&'a OperatorCondition>,
    pub(super) degraded: Option<&'a OperatorCondition>,
    /// Whether the component has the release.
    pub(super) updated: bool,
}

/// Components of the release, in the order of the API.
pub(super) fn of<'a>(
    cluster: &'a ClusterObjects,
    status: &ClusterVersionStatus,
) -> Vec<Operator<'a>> {
    let of_the_release = cluster.operators.iter().filter(|operator| is_of_a_release(operator));
    of_the_release.map(|operator| Operator::of(operator, cluster, status)).collect()
}

fn is_of_a_release(operator: &ClusterOperator) -> bool {
    let mut annotations = operator.metadata.annotations.iter().flatten();
    annotations.any(|(key, _)| RELEASE_ANNOTATIONS.iter().any(|prefix| key.starts_with(prefix)))
}

impl<'a> Operator<'a> {
    fn of(
        operator: &'a ClusterOperator,
        cluster: &ClusterObjects,
        status: &ClusterVersionStatus,
    ) -> Self {
        let name = operator.metadata.name.as_deref().unwrap_or_default();
        let condition = |type_| operator.status.as_ref()?.conditions.find(type_);
        let version = |part| operator.status.as_ref()?.version_of(part);
        let completed = version("operator") == Some(status.desired.version.as_str());
        // An architecture change is another image of the same version.
        let other_image = name == NODE_OPERATOR
            && match (version("operator-image"), &cluster.node_operator_image) {
                (Some(is), Some(should)) => is != should,
                _ => false,
            };
        Self {
            name,
            available: condition(available::TYPE),
            progressing: condition(progressing::TYPE),
            degraded: condition(degraded::TYPE),
            updated: completed && !other_image,
        }
    }

    pub(super) fn is_updating(&self) -> bool {
        !self.updated && is(self.progressing, &ConditionStatus::True)
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.updated && is(self.progressing, &ConditionStatus::False)
    }

    pub(super) fn is_available(&self) -> bool {
        is(self.available, &ConditionStatus::True)
    }

    pub(super) fn is_degraded(&self) -> bool {
        is(self.degraded, &ConditionStatus::True)
    }
}

pub(super) fn is(condition: Option<&OperatorCondition>, status: &ConditionStatus) -> bool {
    condition.is_some_and(|condition| condition.status == *status)
}
