//! A client that only writes objects.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_api::ClusterOperator;
use fairway_release::{Manifest, ObjectId};
use fairway_testkit::testbed::wait::Stopwatch;
use futures::future::try_join_all;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::wait::await_condition;

use crate::releases::written;

/// As many as the operator.
const MAX_CONCURRENT_WRITES: usize = 16;

/// Applies manifests, namespaces first.
pub(crate) async fn write_all(client: &Client, manifests: &[&Manifest]) -> Result<Duration> {
    let watch = Stopwatch::start();
    let (first, then): (Vec<&Manifest>, Vec<&Manifest>) =
        manifests.iter().partition(|manifest| manifest.id.kind == "Namespace");
    for manifests in [first, then] {
        let writes = stream::iter(manifests).map(|manifest| write(client, manifest));
        writes.buffer_unordered(MAX_CONCURRENT_WRITES).try_collect::<()>().await?;
    }
    Ok(watch.elapsed())
}

/// Applies manifests in the order of an update: a level starts after the workloads of the previous one
/// are rolled out and its components have reported their version.
pub(crate) async fn write_in_order(
    client: &Client,
    manifests: &[&Manifest],
    operators: &BTreeMap<String, String>,
    version: &str,
) -> Result<Duration> {
    let watch = Stopwatch::start();
    let mut levels: BTreeMap<&str, Vec<&Manifest>> = BTreeMap::new();
    for manifest in manifests {
        levels.entry(level(&manifest.file)).or_default().push(manifest);
    }
    for manifests in levels.into_values() {
        write_all(client, &manifests).await?;
        let workloads = manifests.iter().filter(|manifest| manifest.id.kind == "Deployment");
        let waits =
            workloads.map(|deployment| wait_until_done(client, &deployment.id, operators, version));
        try_join_all(waits).await?;
    }
    Ok(watch.elapsed())
}

/// The prefix that the files of a level share.
fn level(file: &str) -> &str {
    file.match_indices('_').nth(1).map_or(file, |(end, _)| &file[..end])
}

/// Waits for a workload and for the report of its component.
async fn wait_until_done(
    client: &Client,
    id: &ObjectId,
    operators: &BTreeMap<String, String>,
    version: &str,
) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &id.namespace);
    let is_rolled_out = |deployment: Option<&Deployment>| {
        deployment.is_some_and(|deployment| {
            let status = deployment.status.as_ref();
            status.and_then(|status| status.observed_generation) >= deployment.metadata.generation
        })
    };
    await_condition(deployments, &id.name, is_rolled_out).await?;
    let Some(operator) = operators.get(&id.namespace) else { return Ok(()) };
    let has_reported = |operator: Option<&ClusterOperator>| {
        let status = operator.and_then(|operator| operator.status.as_ref());
        status.is_some_and(|status| status.versions.iter().any(|it| it.version == version))
    };
    await_condition(Api::all(client.clone()), operator, has_reported).await?;
    Ok(())
}

/// Applies a manifest. Returns the duration.
pub(crate) async fn write_one(client: &Client, manifest: &Manifest) -> Result<Duration> {
    let watch = Stopwatch::start();
    write(client, manifest).await?;
    Ok(watch.elapsed())
}

async fn write(client: &Client, manifest: &Manifest) -> Result<()> {
    let id = &manifest.id;
    let kind = GroupVersionKind::gvk(&id.group, &manifest.version, &id.kind);
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match id.namespace.as_str() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let parameters = PatchParams::apply("bare").force();
    let applied = api.patch(&id.name, &parameters, &Patch::Apply(written(manifest))).await;
    applied.map(drop).with_context(|| id.to_string())
}
