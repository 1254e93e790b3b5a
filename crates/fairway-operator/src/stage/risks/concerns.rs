//! What in the cluster speaks against updates.

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_risk::Concern;
use fairway_risk::sources::{self, ConfigData};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::cluster::Objects;

/// What was found.
#[derive(Clone, Copy)]
pub(super) struct Findings<'a> {
    pub(super) cluster_version: &'a ClusterVersion,
    pub(super) operators: &'a Objects<ClusterOperator>,
    pub(super) admin_gates: Option<&'a ConfigMap>,
    pub(super) admin_acks: Option<&'a ConfigMap>,
    pub(super) alerts: &'a [Concern],
}

/// Everything that speaks against updates of a cluster at that version.
pub(super) fn collect(current: &str, findings: Findings) -> Vec<Concern> {
    let Findings { cluster_version, operators, admin_gates, admin_acks, alerts } = findings;
    let conditions = cluster_version.status.as_ref().map_or(&[][..], |status| &status.conditions);
    let nothing = ConfigData::new();
    let gates = admin_gates.map(|gates| gates.data.as_ref().unwrap_or(&nothing));
    let acks = admin_acks.map(|acks| acks.data.as_ref().unwrap_or(&nothing));
    let gates = sources::admin_gates(
        current,
        gates.ok_or("there is no such ConfigMap"),
        acks.ok_or("there is no such ConfigMap"),
    );
    sources::cluster_operators(operators.values().map(AsRef::as_ref))
        .into_iter()
        .chain(gates)
        .chain(sources::overrides(&cluster_version.spec.overrides))
        .chain(sources::updating(conditions))
        .chain(alerts.iter().cloned())
        .collect()
}
