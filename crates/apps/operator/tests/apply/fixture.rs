//! Fixture of the tests: a cluster, an applier, and objects of a release.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use fairway_api::ClusterVersion;
use fairway_operator::apply::{
    Applier, ApplyContext, ApplyError, ApplyOutcome, ApplyResult, Changes, Owner,
};
use fairway_operator::election::{Leadership, TermSender};
use fairway_release::{Manifest, ObjectId};
use fairway_testkit::{TestCluster, TestNamespace, objects, releases, wait};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

/// Longer than any test.
const LEASE_DURATION: Duration = Duration::from_hours(1);

/// A cluster with a ClusterVersion, a namespace, and an applier.
pub(crate) struct ApplyFixture {
    pub(crate) applier: Applier,
    pub(crate) context: ApplyContext,
    pub(crate) namespace: TestNamespace,
    pub(crate) cluster: TestCluster,
    leadership: Leadership,
    _deadline: TermSender,
}

impl ApplyFixture {
    pub(crate) async fn prepare() -> Result<Self> {
        Self::on(TestCluster::exclusive().await?).await
    }

    /// On a cluster with the CRDs of the update API and without a ClusterVersion.
    pub(crate) async fn on(cluster: TestCluster) -> Result<Self> {
        let namespace = cluster.namespace("apply").await?;
        let versions: Api<ClusterVersion> = Api::all(cluster.client());
        let version = versions.create(&PostParams::default(), &objects::cluster_version()).await?;
        let owner = Owner { uid: version.uid().context("no uid")? };
        let (deadline, leadership) = Leadership::until(Instant::now() + LEASE_DURATION);
        let applier = Applier::new(cluster.client(), leadership.clone());
        let context = ApplyContext { owner, ..ApplyContext::default() };
        Ok(Self { applier, context, namespace, cluster, leadership, _deadline: deadline })
    }

    /// Creates a new applier, as after a restart.
    pub(crate) fn restart(&mut self) {
        self.applier = Applier::new(self.cluster.client(), self.leadership.clone());
    }

    /// A name for a cluster-scoped object.
    pub(crate) fn unique(&self, name: &str) -> String {
        format!("{}-{name}", self.namespace.name())
    }

    pub(crate) fn config_map(&self, name: &str, data: &Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace.name()}, "data": data,
        })
    }

    pub(crate) async fn try_apply(&self, object: &Value) -> Result<ApplyResult, ApplyError> {
        self.applier.apply(&manifest(object), &self.context).await
    }

    /// Applies an object; returns the action.
    pub(crate) async fn apply(&self, object: &Value) -> Result<ApplyOutcome> {
        Ok(self.try_apply(object).await?.outcome)
    }

    /// Applies an object until it is ready.
    pub(crate) async fn apply_until_good(&self, object: &Value) -> Result<()> {
        wait::until(&format!("{} to be ready", manifest(object).id), || async {
            let applied = self.try_apply(object).await?;
            Ok((applied.health == fairway_operator::apply::Health::Good).then_some(()))
        })
        .await
    }

    /// Applies an object after each of its changes, until that corrects drift: the applier may also
    /// report its own write.
    pub(crate) async fn until_repaired(&self, changes: &mut Changes, object: &Value) -> Result<()> {
        loop {
            await_change(changes, object).await?;
            if self.apply(object).await? == ApplyOutcome::Written {
                return Ok(());
            }
        }
    }

    fn api(&self, object: &Value) -> Result<(Api<DynamicObject>, String)> {
        let types: TypeMeta = serde_json::from_value(object.clone())?;
        let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types)?);
        let name = object["metadata"]["name"].as_str().context("no name")?.to_owned();
        let client = self.cluster.client();
        let api = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        };
        Ok((api, name))
    }

    /// The live object, if it exists.
    pub(crate) async fn get(&self, object: &Value) -> Result<Option<Value>> {
        let (api, name) = self.api(object)?;
        Ok(api.get_opt(&name).await?.map(serde_json::to_value).transpose()?)
    }

    /// The live object.
    pub(crate) async fn live(&self, object: &Value) -> Result<Value> {
        self.get(object).await?.with_context(|| format!("{} is gone", manifest(object).id))
    }

    /// Creates an object with another field manager.
    pub(crate) async fn create(&self, object: &Value, manager: &str) -> Result<Value> {
        let (api, _) = self.api(object)?;
        let params = PostParams { field_manager: Some(manager.to_owned()), dry_run: false };
        let created = api.create(&params, &serde_json::from_value(object.clone())?).await?;
        Ok(serde_json::to_value(created)?)
    }

    /// Changes an object as another client.
    pub(crate) async fn edit(&self, object: &Value, patch: &Value) -> Result<()> {
        let (api, name) = self.api(object)?;
        let params = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        api.patch(&name, &params, &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Deletes an object as another client.
    pub(crate) async fn delete(&self, object: &Value) -> Result<()> {
        let (api, name) = self.api(object)?;
        api.delete(&name, &DeleteParams::default()).await?;
        Ok(())
    }
}

/// Waits until the applier reports a change of an object.
pub(crate) async fn await_change(changes: &mut Changes, object: &Value) -> Result<()> {
    let id = manifest(object).id;
    let is_reported = async {
        let mut ids: BTreeSet<ObjectId> = BTreeSet::new();
        while !ids.contains(&id) {
            ids.extend(changes.next().await);
        }
    };
    ensure!(
        timeout(wait::DEFAULT_TIMEOUT, is_reported).await.is_ok(),
        "no change of {id} reported"
    );
    Ok(())
}

/// A manifest as a release has it.
pub(crate) fn manifest(object: &Value) -> Manifest {
    releases::manifest(object).unwrap()
}
