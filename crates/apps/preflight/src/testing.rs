//! Helpers for tests of checks.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use fairway_api::Version;
use fairway_findings::Finding;
use fairway_sandbox::faults::Fault;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{TestCluster, wait};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Resource};
use crate::target::Target;

/// A target release for a cluster of a version.
pub(crate) fn target(source: &str, release: &TestRelease) -> Result<Target> {
    let content = release.load()?;
    Ok(Target {
        image: "registry.example/release@sha256:0".to_owned(),
        version: content.metadata.version.clone(),
        source: Version::parse(source)?,
        manifests: content.manifests.clone(),
        content: Arc::new(content),
    })
}

/// Read-only access to a test cluster.
pub(crate) fn reader(cluster: &TestCluster) -> Cluster {
    Cluster::new(cluster.client())
}

/// Makes the sandbox refuse all requests for a resource. On another API server the test is skipped,
/// and the result is `false`.
pub(crate) fn hide(cluster: &TestCluster, plural: &str) -> bool {
    let Some(sandbox) = cluster.fault_injection() else { return false };
    sandbox.faults().add(Fault::refuse(403).resource(plural));
    true
}

/// Creates an object of any kind.
pub(crate) async fn create(
    cluster: &TestCluster,
    resource: Resource,
    object: Value,
) -> Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(object)?;
    let resource = ApiResource::from(resource);
    let api: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(cluster.client(), namespace, &resource),
        None => Api::all_with(cluster.client(), &resource),
    };
    Ok(api.create(&PostParams::default(), &object).await?)
}

/// Creates a CRD without a schema, and waits until it is served.
pub(crate) async fn define(cluster: &TestCluster, resource: Resource, scope: &str) -> Result<()> {
    let Resource { group, version, kind, plural, .. } = resource;
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": scope, "names": {"kind": kind, "plural": plural},
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": anything},
            }],
        },
    });
    define_as(cluster, definition).await
}

/// Creates a CRD, and waits until it is served.
pub(crate) async fn define_as(cluster: &TestCluster, definition: Value) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client());
    let definition: CustomResourceDefinition = serde_json::from_value(definition)?;
    let name = definition.name_any();
    api.create(&PostParams::default(), &definition).await?;
    wait::until(&format!("{name} to be served"), || async {
        let conditions = api.get(&name).await?.status.and_then(|status| status.conditions);
        let mut conditions = conditions.into_iter().flatten();
        Ok(conditions.find(|it| it.type_ == "Established" && it.status == "True").map(|_| ()))
    })
    .await
}

/// Findings as text.
pub(crate) fn render(findings: &[Finding]) -> String {
    let render = findings.iter().map(|finding| {
        let Finding { name, severity, message, remediation, url, .. } = finding;
        format!("{name} ({severity}): {message}\n  {remediation}\n  {url}")
    });
    render.map(|text| text.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Creates an object with its status.
pub(crate) async fn create_with_status(client: &Client, object: &Value) -> Result<()> {
    let types: TypeMeta = serde_json::from_value(object.clone())?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types)?);
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = object["metadata"]["name"].as_str().context("an object without a name")?;
    let wanted = serde_json::from_value(object.clone())?;
    wait::until(&format!("{name} to be created"), || async {
        match api.create(&PostParams::default(), &wanted).await {
            // Pods are forbidden until the controller has created the namespace's ServiceAccount.
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
            created => Ok(Some(created?)),
        }
    })
    .await?;
    if let Some(status) = object.get("status") {
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(name, &PatchParams::default(), &patch).await?;
    }
    Ok(())
}

/// A ready node with this capacity.
pub(crate) fn node(name: &str, cpu: &str, memory: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory},
            "capacity": {"cpu": cpu, "memory": memory},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}
