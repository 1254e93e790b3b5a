//! Duration of a drift correction.

use std::time::Duration;

use anyhow::{Result, bail};
use fairway_release::Manifest;
use fairway_testkit::testbed::wait::Stopwatch;
use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::json;
use tokio::time::timeout;

/// A correction that takes longer has failed.
const CORRECTION_TIMEOUT: Duration = Duration::from_mins(1);

/// A change to a managed object.
#[derive(Clone, Copy)]
pub(crate) enum Drift {
    Edited,
    Deleted,
}

/// Changes a ConfigMap. Returns the time until the operator has corrected it.
pub(crate) async fn time_correction(
    client: &Client,
    manifest: &Manifest,
    drift: Drift,
) -> Result<Duration> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &manifest.id.namespace);
    let name = &manifest.id.name;
    let before = maps.get(name).await?;
    let version = before.metadata.resource_version.unwrap_or_default();
    let only = WatchParams::default().fields(&format!("metadata.name={name}"));
    let mut events = std::pin::pin!(maps.watch(&only, &version).await?);
    match drift {
        Drift::Edited => {
            let patch = Patch::Merge(json!({"data": {"version": "edited"}}));
            maps.patch(name, &PatchParams::default(), &patch).await?;
        }
        Drift::Deleted => drop(maps.delete(name, &DeleteParams::default()).await?),
    }
    let watch = Stopwatch::start();
    let wait = async {
        while let Some(event) = events.try_next().await? {
            if let WatchEvent::Added(map) | WatchEvent::Modified(map) = event
                && map.data == before.data
            {
                return Ok(watch.elapsed());
            }
        }
        bail!("the watch of {} has ended", manifest.id)
    };
    timeout(CORRECTION_TIMEOUT, wait).await?
}
