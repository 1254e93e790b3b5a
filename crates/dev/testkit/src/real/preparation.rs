//! The objects of a cluster that an installer creates before the operator starts.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use fairway_api::ClusterVersion;
use fairway_release::Manifest;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use serde_json::{Value, json};

use super::RealPayload;
use crate::{TestCluster, objects, wait};

/// A kind that an installer or an aggregated API server would provide.
#[derive(Clone, Copy, Debug)]
pub struct MissingKind {
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The plural name.
    pub plural: &'static str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
}

/// Provided by no payload: another component ships its CRD.
const CSI_SNAPSHOT_CONTROLLER: MissingKind = MissingKind {
    group: "operator.openshift.io",
    kind: "CSISnapshotController",
    plural: "csisnapshotcontrollers",
    namespaced: false,
};

/// Creates what the first of these releases needs: the namespaces of operands, whose operators do not
/// run; `FeatureGate` `cluster` with the gates of each release; the CRD of `CSISnapshotController` and
/// those of other missing kinds; and a ClusterVersion that excludes the operator's own Deployment,
/// because the operator is a process of the test.
pub async fn prepare_cluster(
    cluster: &TestCluster,
    payloads: &[&RealPayload],
    missing: &[MissingKind],
) -> Result<()> {
    let client = cluster.client();
    cluster.install_crds().await?;
    let manifests: Vec<&Manifest> = payloads.iter().flat_map(|it| it.included()).collect();
    let namespaces = namespaces(&manifests).into_iter().map(|name| create_namespace(&client, name));
    stream::iter(namespaces).buffer_unordered(16).try_collect::<()>().await?;
    for kind in [CSI_SNAPSHOT_CONTROLLER].iter().chain(missing) {
        create_crd(&client, &stub_crd(kind)).await?;
    }
    let last = payloads.last().context("there is a payload")?;
    create_feature_gates(&client, last, payloads).await?;
    create_cluster_version(&client).await
}

/// Namespaces that manifests use and no manifest creates, and that of the operator, for its Lease.
fn namespaces(manifests: &[&Manifest]) -> BTreeSet<String> {
    let of_kind = |manifest: &&&Manifest| manifest.id.kind == "Namespace";
    let created: BTreeSet<&str> =
        manifests.iter().filter(of_kind).map(|it| it.id.name.as_str()).collect();
    let used = manifests.iter().map(|it| it.id.namespace.as_str());
    let wanted = used.filter(|name| !name.is_empty() && !created.contains(name));
    wanted.chain(["openshift-cluster-version"]).map(str::to_owned).collect()
}

async fn create_namespace(client: &Client, name: String) -> Result<()> {
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
    match Api::all(client.clone()).create(&PostParams::default(), &namespace).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error).with_context(|| format!("namespace {name}")),
    }
}

fn stub_crd(MissingKind { group, kind, plural, namespaced }: &MissingKind) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            // The API server protects the groups of Kubernetes.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "scope": if *namespaced { "Namespaced" } else { "Cluster" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    })
}

async fn create_crd(client: &Client, crd: &Value) -> Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let crd: CustomResourceDefinition = serde_json::from_value(crd.clone())?;
    let name = crd.metadata.name.clone().unwrap_or_default();
    crds.create(&PostParams::default(), &crd).await.with_context(|| name.clone())?;
    wait::until(&format!("{name} to be established"), async || {
        let status = crds.get(&name).await?.status;
        let mut conditions = status.and_then(|it| it.conditions).into_iter().flatten();
        let is_established = conditions.any(|it| it.type_ == "Established" && it.status == "True");
        Ok(is_established.then_some(()))
    })
    .await
}

async fn create_feature_gates(
    client: &Client,
    payload: &RealPayload,
    all: &[&RealPayload],
) -> Result<()> {
    let crd = payload.included().into_iter().find(|it| {
        it.id.kind == "CustomResourceDefinition" && it.id.name == "featuregates.config.openshift.io"
    });
    create_crd(client, &crd.context("no CRD of FeatureGate")?.object()).await?;
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate");
    let resource = ApiResource::from_gvk_with_plural(&kind, "featuregates");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let object = DynamicObject::new("cluster", &resource).data(json!({"spec": {}}));
    wait::until("FeatureGate to be served", async || {
        Ok(api.create(&PostParams::default(), &object).await.ok())
    })
    .await?;
    let gates = all.iter().map(|it| it.feature_gates()).collect::<Result<Vec<_>>>()?;
    let patch = Patch::Merge(json!({"status": {"featureGates": gates}}));
    api.patch_status("cluster", &PatchParams::default(), &patch).await?;
    Ok(())
}

async fn create_cluster_version(client: &Client) -> Result<()> {
    let mut object = objects::cluster_version();
    object.spec.channel = None;
    object.spec.overrides = serde_json::from_value(json!([{
        "kind": "Deployment", "group": "apps", "namespace": "openshift-cluster-version",
        "name": "cluster-version-operator", "unmanaged": true,
    }]))?;
    Api::<ClusterVersion>::all(client.clone()).create(&PostParams::default(), &object).await?;
    Ok(())
}
