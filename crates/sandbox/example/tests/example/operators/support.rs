//! A component of the platform on a cluster, for one test.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use fairway_api::{ClusterOperator, ClusterOperatorStatus, Conditions as _};
use fairway_example::{Platform, payload};
use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, LogParams, Patch, PatchParams,
};
use kube::{Client, ResourceExt as _};
use serde_json::json;

/// A component with its operator's pod.
pub(crate) struct Component {
    pub(crate) cluster: TestCluster,
    name: &'static str,
    platform: Platform,
}

impl Component {
    /// Installs a component of a release.
    pub(crate) async fn install(name: &'static str, version: &str) -> Result<Self> {
        let cluster = TestCluster::exclusive().await?;
        let platform = cluster.example_platform(&BTreeMap::new()).await?;
        let component = Self { cluster, name, platform };
        remove(component.cluster.client(), name).await?;
        component.apply(version).await?;
        Ok(component)
    }

    /// Applies the component's manifests of a release, as an update does.
    pub(crate) async fn apply(&self, version: &str) -> Result<()> {
        let made = self.platform.release(version).context("no such release")?;
        let files =
            payload::files(&made.release, &made.operators_reference, &BTreeMap::new(), None)?;
        let release = fairway_release::Release::load(&files, &made.reference, DEFAULT_PROFILE)?;
        let infix = format!("_{}_", self.name);
        let operator_manifests = release.manifests.iter().filter(|it| it.file.contains(&infix));
        for manifest in operator_manifests.filter(|it| !it.is_preflight_check()) {
            apply(self.cluster.client(), serde_json::from_value(manifest.object())?).await?;
        }
        Ok(())
    }

    /// Configures the behaviour of the operator; `null` removes a key.
    pub(crate) async fn configure(&self, data: serde_json::Value) -> Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.cluster.client(), &namespace(self.name));
        let patch = Patch::Merge(json!({ "data": data }));
        maps.patch(&format!("{}-behaviour", self.name), &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Waits until the status of the operator satisfies a predicate.
    pub(crate) async fn until(
        &self,
        what: &str,
        is_it: impl Fn(&ClusterOperatorStatus) -> bool,
    ) -> Result<ClusterOperatorStatus> {
        let operators: Api<ClusterOperator> = Api::all(self.cluster.client());
        let said = wait::until(&format!("{} to say: {what}", self.name), || async {
            let found = operators.get_opt(self.name).await?;
            Ok(found.and_then(|operator| operator.status).filter(&is_it))
        })
        .await;
        match said {
            Ok(status) => Ok(status),
            Err(error) => Err(error.context(self.diagnostics().await?)),
        }
    }

    /// State and logs of the operator's pods, for a failed test.
    async fn diagnostics(&self) -> Result<String> {
        let pods = self.pods();
        let operators: Api<ClusterOperator> = Api::all(self.cluster.client());
        let mut diagnostics = vec![format!("{:?}", operators.get_opt(self.name).await?)];
        for pod in pods.list(&ListParams::default()).await? {
            let log = pods.logs(&pod.name_any(), &LogParams::default()).await.unwrap_or_default();
            diagnostics.push(format!("{}: {:?}\n{log}", pod.name_any(), pod.status));
        }
        Ok(diagnostics.join("\n"))
    }

    /// Waits until the operator's container has restarted.
    pub(crate) async fn until_restarted(&self) -> Result<()> {
        wait::until("the operator to be started again", || async {
            let pods = self.pods().list(&ListParams::default()).await?;
            let containers = pods.into_iter().filter_map(|pod| pod.status?.container_statuses);
            let restarted = containers.flatten().any(|container| container.restart_count > 0);
            Ok(restarted.then_some(()))
        })
        .await
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.cluster.client(), &namespace(self.name))
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        let name = self.name;
        self.cluster.clean_up(move |client| async move { remove(client, name).await });
    }
}

/// Whether the condition has this status.
pub(crate) fn is(status: &ClusterOperatorStatus, type_: &str, holds: bool) -> bool {
    if holds { status.conditions.is_true(type_) } else { status.conditions.is_false(type_) }
}

fn namespace(name: &str) -> String {
    format!("openshift-{name}")
}

async fn apply(client: Client, mut object: DynamicObject) -> Result<()> {
    // Only the operator writes its status.
    object.data.as_object_mut().map(|object| object.remove("status"));
    let types = object.types.as_ref().context("a manifest has a kind")?;
    let resource = ApiResource::from_gvk(&types.try_into()?);
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client, &namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let parameters = PatchParams::apply("test").force();
    api.patch(&object.name_any(), &parameters, &Patch::Apply(&object)).await?;
    Ok(())
}

/// Removes the cluster-scoped objects of a test, and its namespace.
async fn remove(client: Client, name: &str) -> Result<()> {
    let (namespaces, parameters) = (Api::<Namespace>::all(client.clone()), DeleteParams::default());
    let operator = format!("{name}-operator");
    // First, so that no operator reports after its permissions are removed.
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace(name));
    let _ = deployments.delete(&operator, &parameters).await;
    let _ = Api::<ClusterRoleBinding>::all(client.clone()).delete(&operator, &parameters).await;
    let _ = Api::<ClusterRole>::all(client).delete(&operator, &parameters).await;
    let _ = namespaces.delete(&namespace(name), &parameters).await;
    wait::until("the namespace to go", || async {
        Ok(namespaces.get_opt(&namespace(name)).await?.is_none().then_some(()))
    })
    .await
}
