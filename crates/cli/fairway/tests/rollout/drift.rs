//! Drift of managed objects.

use anyhow::{Context as _, Result};
use fairway_testkit::{AuditEvent, NAMESPACE, TestPlatform, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Value, json};

/// Namespace and name of a managed ConfigMap.
const MANAGED: (&str, &str) = ("openshift-network", "network-defaults");

/// Beginning of the user names of the operator.
const OPERATOR: &str = "system:serviceaccount:openshift-cluster-version:";

/// The operator corrects an edit, a deletion and a removed label.
pub(crate) async fn operator_corrects_drift(platform: &TestPlatform) -> Result<()> {
    let before = managed(platform).await?.context("no ConfigMap")?;
    edit(platform, json!({ "data": { "mtu": "9000" } })).await?;
    wait_until_equal(platform, &before).await?;
    platform.config_maps(MANAGED.0).delete(MANAGED.1, &DeleteParams::default()).await?;
    wait_until_equal(platform, &before).await?;
    edit(platform, json!({ "metadata": { "labels": null } })).await?;
    wait_until_equal(platform, &before).await
}

/// A restarted operator writes no object that matches its manifest.
pub(crate) async fn restarted_operator_writes_nothing(platform: &TestPlatform) -> Result<()> {
    let before = managed(platform).await?.context("no ConfigMap")?;
    let log = platform.cluster.audit_log()?;
    let (pods, mark) = (operator_pods(platform), log.mark()?);
    pods.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    wait::until("a new pod of the operator", || async {
        let found = pods.list(&ListParams::default()).await?;
        Ok(found.iter().any(is_ready).then_some(()))
    })
    .await?;
    // The operator corrects this after it has compared all objects.
    edit(platform, json!({ "data": { "mtu": "9000" } })).await?;
    wait_until_equal(platform, &before).await?;

    let is_by_operator = |event: &AuditEvent| event.user.username.starts_with(OPERATOR);
    let is_periodic = |event: &AuditEvent| event.is_about("leases") || event.is_about("events");
    let events = log.since(mark)?;
    let writes = events.iter().filter(|event| event.is_write() && is_by_operator(event));
    let writes: Vec<String> =
        writes.filter(|event| !is_periodic(event)).map(ToString::to_string).collect();
    assert_eq!(writes.len(), 1, "{writes:#?}");
    assert!(writes[0].contains(MANAGED.1), "{writes:#?}");
    Ok(())
}

async fn managed(platform: &TestPlatform) -> Result<Option<ConfigMap>> {
    platform.config_map(MANAGED.0, MANAGED.1).await
}

async fn edit(platform: &TestPlatform, patch: Value) -> Result<()> {
    let maps = platform.config_maps(MANAGED.0);
    maps.patch(MANAGED.1, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

async fn wait_until_equal(platform: &TestPlatform, expected: &ConfigMap) -> Result<()> {
    let is_equal = |found: &ConfigMap| {
        found.data == expected.data
            && found.labels() == expected.labels()
            && found.meta().owner_references == expected.meta().owner_references
    };
    wait::until(&format!("{} to be corrected", MANAGED.1), || async {
        Ok(managed(platform).await?.filter(is_equal).map(drop))
    })
    .await
}

fn operator_pods(platform: &TestPlatform) -> Api<Pod> {
    Api::namespaced(platform.client(), NAMESPACE)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let is_ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    is_ready && pod.meta().deletion_timestamp.is_none()
}
