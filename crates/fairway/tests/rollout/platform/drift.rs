//! Keeping a platform as its release has it.

use anyhow::{Context as _, Result};
use fairway_testkit::{AuditEvent, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use super::{NAMESPACE, TestPlatform};

/// An object of the platform that has a value worth keeping.
const KEPT: (&str, &str) = ("openshift-network", "network-defaults");

/// Who the operator is for the API server.
const OPERATOR: &str = "system:serviceaccount:openshift-cluster-version:";

impl TestPlatform {
    /// What is edited, deleted, or no longer said to be the release's becomes right again.
    pub(super) async fn repairs_what_drifts(&self) -> Result<()> {
        let before = self.kept().await?.context("it is not there")?;
        self.edit(json!({ "data": { "mtu": "9000" } })).await?;
        self.until_like(&before).await?;
        self.config_maps(KEPT.0).delete(KEPT.1, &DeleteParams::default()).await?;
        self.until_like(&before).await?;
        self.edit(json!({ "metadata": { "labels": null } })).await?;
        self.until_like(&before).await
    }

    /// Another pod of the operator leaves what is right alone.
    pub(super) async fn writes_nothing_when_it_starts_again(&self) -> Result<()> {
        let before = self.kept().await?.context("it is not there")?;
        let log = self.cluster.audit_log()?;
        let (pods, mark) = (self.operator_pods(), log.mark()?);
        pods.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        wait::until("another pod of the operator", || async {
            let found = pods.list(&ListParams::default()).await?;
            Ok(found.iter().any(is_ready).then_some(()))
        })
        .await?;
        // When it repairs this, it has looked at everything.
        self.edit(json!({ "data": { "mtu": "9000" } })).await?;
        self.until_like(&before).await?;

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

    async fn kept(&self) -> Result<Option<ConfigMap>> {
        self.config_map(KEPT.0, KEPT.1).await
    }

    async fn edit(&self, patch: Value) -> Result<()> {
        let maps = self.config_maps(KEPT.0);
        maps.patch(KEPT.1, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    async fn until_like(&self, wanted: &ConfigMap) -> Result<()> {
        let is_like = |found: &ConfigMap| {
            found.data == wanted.data
                && found.labels() == wanted.labels()
                && found.meta().owner_references == wanted.meta().owner_references
        };
        wait::until(&format!("{} to be repaired", KEPT.1), || async {
            Ok(self.kept().await?.filter(is_like).map(drop))
        })
        .await
    }

    fn operator_pods(&self) -> Api<Pod> {
        Api::namespaced(self.cluster.client(), NAMESPACE)
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let is_ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    is_ready && pod.meta().deletion_timestamp.is_none()
}
