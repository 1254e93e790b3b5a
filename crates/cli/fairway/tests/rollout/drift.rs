//! Keeping a platform as its release has it.

use anyhow::{Context as _, Result};
use fairway_testkit::{AuditEvent, NAMESPACE, TestPlatform, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Value, json};

/// An object of the platform that has a value worth keeping.
const KEPT: (&str, &str) = ("openshift-network", "network-defaults");

/// Who the operator is for the API server.
const OPERATOR: &str = "system:serviceaccount:openshift-cluster-version:";

/// What is edited, deleted, or no longer said to be the release's becomes right again.
pub(crate) async fn repairs_what_drifts(platform: &TestPlatform) -> Result<()> {
    let before = kept(platform).await?.context("it is not there")?;
    edit(platform, json!({ "data": { "mtu": "9000" } })).await?;
    until_like(platform, &before).await?;
    platform.config_maps(KEPT.0).delete(KEPT.1, &DeleteParams::default()).await?;
    until_like(platform, &before).await?;
    edit(platform, json!({ "metadata": { "labels": null } })).await?;
    until_like(platform, &before).await
}

/// Another pod of the operator leaves what is right alone.
pub(crate) async fn writes_nothing_when_it_starts_again(platform: &TestPlatform) -> Result<()> {
    let before = kept(platform).await?.context("it is not there")?;
    let log = platform.cluster.audit_log()?;
    let (pods, mark) = (operator_pods(platform), log.mark()?);
    pods.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    wait::until("another pod of the operator", || async {
        let found = pods.list(&ListParams::default()).await?;
        Ok(found.iter().any(is_ready).then_some(()))
    })
    .await?;
    // When it repairs this, it has looked at everything.
    edit(platform, json!({ "data": { "mtu": "9000" } })).await?;
    until_like(platform, &before).await?;

    let is_own = |event: &AuditEvent| event.user.username.starts_with(OPERATOR);
    let is_usual = |event: &AuditEvent| event.is_about("leases") || event.is_about("events");
    let events = log.since(mark)?;
    let writes = events.iter().filter(|event| event.is_write() && is_own(event));
    let writes: Vec<String> =
        writes.filter(|event| !is_usual(event)).map(ToString::to_string).collect();
    assert_eq!(writes.len(), 1, "{writes:#?}");
    assert!(writes[0].contains(KEPT.1), "{writes:#?}");
    Ok(())
}

async fn kept(platform: &TestPlatform) -> Result<Option<ConfigMap>> {
    platform.config_map(KEPT.0, KEPT.1).await
}

async fn edit(platform: &TestPlatform, patch: Value) -> Result<()> {
    let maps = platform.config_maps(KEPT.0);
    maps.patch(KEPT.1, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

async fn until_like(platform: &TestPlatform, wanted: &ConfigMap) -> Result<()> {
    let is_like = |found: &ConfigMap| {
        found.data == wanted.data
            && found.labels() == wanted.labels()
            && found.meta().owner_references == wanted.meta().owner_references
    };
    wait::until(&format!("{} to be repaired", KEPT.1), || async {
        Ok(kept(platform).await?.filter(is_like).map(drop))
    })
    .await
}

fn operator_pods(platform: &TestPlatform) -> Api<Pod> {
    Api::namespaced(platform.cluster.client(), NAMESPACE)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let is_ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    is_ready && pod.meta().deletion_timestamp.is_none()
}
