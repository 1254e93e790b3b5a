//! What the tests of several checks need.

use std::sync::Arc;

use anyhow::Result;
use fairway_api::Version;
use fairway_findings::Finding;
use fairway_sandbox::faults::Fault;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::wait;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Resource};
use crate::target::Target;

/// A release, on its way to a cluster of that version.
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

/// What a check sees of a test's cluster.
pub(crate) fn seen(cluster: &TestCluster) -> Cluster {
    Cluster::new(cluster.client())
}

/// Makes the sandbox refuse every request for a resource. On another API server, the test is
/// reported as one that cannot run there, and the result is `false`.
pub(crate) fn hide(cluster: &TestCluster, plural: &str) -> bool {
    let Some(sandbox) = cluster.failing_on_demand() else { return false };
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

/// Has the cluster serve a kind whose objects may be anything, and waits until it does.
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

/// Has the cluster serve what a definition says, and waits until it does.
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

/// Findings as people read them.
pub(crate) fn told(findings: &[Finding]) -> String {
    let told = findings.iter().map(|finding| {
        let Finding { name, severity, message, remediation, url, .. } = finding;
        format!("{name} ({severity}): {message}\n  {remediation}\n  {url}")
    });
    told.map(|text| text.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
