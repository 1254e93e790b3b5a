//! What is told about an update, from little clusters.

use fairway_api::cluster_operator::OperandVersion;
use fairway_api::{
    ClusterOperator, ClusterOperatorStatus, ClusterVersion, ClusterVersionStatus, OperatorCondition,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// So many seconds after everything began.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

pub(crate) fn condition(type_: &str, status: &str, since: Timestamp) -> OperatorCondition {
    OperatorCondition {
        type_: type_.to_owned(),
        status: status.into(),
        last_transition_time: Some(Time(since)),
        ..OperatorCondition::default()
    }
}

pub(crate) fn cluster_version(version: &str, since: Timestamp) -> ClusterVersion {
    let mut object = ClusterVersion::new("version", fairway_api::ClusterVersionSpec::default());
    let mut status = ClusterVersionStatus::default();
    status.desired.version = version.to_owned();
    status.conditions = vec![condition("Progressing", "True", since)];
    object.status = Some(status);
    object
}

pub(crate) fn operator(
    name: &str,
    version: &str,
    conditions: &[(&str, &str, Timestamp)],
) -> ClusterOperator {
    let mut object = ClusterOperator::new(name, fairway_api::ClusterOperatorSpec::default());
    let annotation = "include.release.openshift.io/self-managed-high-availability".to_owned();
    object.metadata.annotations = Some([(annotation, "true".to_owned())].into());
    object.status = Some(ClusterOperatorStatus {
        conditions: conditions
            .iter()
            .map(|(type_, status, since)| condition(type_, status, *since))
            .collect(),
        versions: vec![OperandVersion {
            name: "operator".to_owned(),
            version: version.to_owned(),
            ..OperandVersion::default()
        }],
        ..ClusterOperatorStatus::default()
    });
    object
}
