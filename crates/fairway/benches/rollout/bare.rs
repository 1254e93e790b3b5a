//! A client that only writes.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_release::Manifest;
use fairway_testkit::testbed::wait::Stopwatch;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;

use crate::releases::written;

/// As many as the operator writes at once.
const AT_ONCE: usize = 16;

/// Applies all of them; those first that others need.
pub(crate) async fn write_all(client: &Client, manifests: &[&Manifest]) -> Result<Duration> {
    let watch = Stopwatch::start();
    let (first, then): (Vec<&Manifest>, Vec<&Manifest>) =
        manifests.iter().partition(|manifest| manifest.id.kind == "Namespace");
    for manifests in [first, then] {
        let writes = stream::iter(manifests).map(|manifest| write(client, manifest));
        writes.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    }
    Ok(watch.elapsed())
}

/// Applies one; how long that took.
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
