//! The objects that tests need.

use std::collections::BTreeMap;

use fairway_api::cluster_operator::OperandVersion;
use fairway_api::cluster_version::{Release, Update, UpdateHistory, UpdateState};
use fairway_api::{
    CLUSTER_VERSION_NAME, ClusterOperator, ClusterOperatorSpec, ClusterOperatorStatus,
    ClusterVersion, ClusterVersionSpec, ClusterVersionStatus, Conditions, OperatorCondition,
};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;

/// When everything in a test began: 2026-01-01T00:00:00Z.
pub fn beginning() -> Time {
    Time("2026-01-01T00:00:00Z".parse().expect("a time"))
}

/// A ClusterVersion that asks for nothing.
pub fn cluster_version() -> ClusterVersion {
    let spec = ClusterVersionSpec {
        cluster_id: "5a3d5c6e-2f3e-4c5b-9d55-5e2c3f0b7a10".to_owned(),
        channel: Some("stable-5.1".to_owned()),
        ..ClusterVersionSpec::default()
    };
    ClusterVersion::new(CLUSTER_VERSION_NAME, spec)
}

/// A request to update to a version.
pub fn update_to(version: &str) -> Update {
    Update { version: Some(version.to_owned()), ..Update::default() }
}

/// A release of that version, with a digest made from it.
pub fn release(version: &str) -> Release {
    let digest = fairway_registry::Digest::of(version.as_bytes());
    Release {
        version: version.to_owned(),
        image: format!("registry.example/release@{digest}"),
        ..Release::default()
    }
}

/// The status of a cluster that has reached that version.
pub fn status_at(version: &str) -> ClusterVersionStatus {
    let desired = release(version);
    let mut conditions = Vec::new();
    for (type_, holds, message) in [
        ("Available", true, format!("Done applying {version}")),
        ("Failing", false, String::new()),
        ("Progressing", false, format!("Cluster version is {version}")),
    ] {
        let condition = OperatorCondition::new(type_, holds).message(message);
        conditions.set(condition, beginning().0);
    }
    ClusterVersionStatus {
        history: vec![UpdateHistory {
            state: UpdateState::Completed,
            started_time: Some(beginning()),
            completion_time: Some(beginning()),
            version: Some(version.to_owned()),
            image: desired.image.clone(),
            verified: true,
            ..UpdateHistory::default()
        }],
        desired,
        observed_generation: 1,
        version_hash: "hash".to_owned(),
        conditions,
        ..ClusterVersionStatus::default()
    }
}

/// A ClusterOperator without a status.
pub fn cluster_operator(name: &str) -> ClusterOperator {
    ClusterOperator::new(name, ClusterOperatorSpec::default())
}

/// The status of a component that works at that version.
pub fn working_at(version: &str) -> ClusterOperatorStatus {
    let mut conditions = Vec::new();
    for (type_, holds) in [("Available", true), ("Progressing", false), ("Degraded", false)] {
        conditions.set(OperatorCondition::new(type_, holds), beginning().0);
    }
    let operator = OperandVersion {
        name: "operator".to_owned(),
        version: version.to_owned(),
        ..OperandVersion::default()
    };
    ClusterOperatorStatus {
        conditions,
        versions: vec![operator],
        ..ClusterOperatorStatus::default()
    }
}

/// A pod that runs an image once with these arguments, on the host's network.
pub fn run_once(name: &str, image: &str, arguments: &[&str]) -> Pod {
    let container = Container {
        name: name.to_owned(),
        image: Some(image.to_owned()),
        args: Some(arguments.iter().map(|&argument| argument.to_owned()).collect()),
        ..Container::default()
    };
    Pod {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("app".to_owned(), name.to_owned())])),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: vec![container],
            // The test cluster has no network of its own: that is how no packet can leave it.
            host_network: Some(true),
            restart_policy: Some("Never".to_owned()),
            ..PodSpec::default()
        }),
        ..Pod::default()
    }
}
