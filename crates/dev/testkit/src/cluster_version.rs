//! ClusterVersion as tests read and change it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_api::cluster_version::{ClusterVersionStatus, Update, UpdateState};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, Conditions as _};
use futures::TryStreamExt as _;
use kube::api::{Api, Patch, PatchParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};

use crate::wait::POLL_INTERVAL;

/// The ClusterVersion of a cluster. Created by [`TestCluster::cluster_version`].
///
/// [`TestCluster::cluster_version`]: crate::TestCluster::cluster_version
pub struct TestClusterVersion {
    api: Api<ClusterVersion>,
}

impl TestClusterVersion {
    pub(crate) fn new(client: Client) -> Self {
        Self { api: Api::all(client) }
    }

    /// The API for requests that this type has no method for.
    pub fn api(&self) -> &Api<ClusterVersion> {
        &self.api
    }

    /// The object.
    pub async fn get(&self) -> Result<ClusterVersion> {
        Ok(self.api.get(CLUSTER_VERSION_NAME).await?)
    }

    /// The status, empty if the operator has not written one.
    pub async fn status(&self) -> Result<ClusterVersionStatus> {
        Ok(self.get().await?.status.unwrap_or_default())
    }

    /// Sets `spec.desiredUpdate`; `null` withdraws the request.
    pub async fn request(&self, update: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "spec": { "desiredUpdate": update } }));
        self.api.patch(CLUSTER_VERSION_NAME, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Requests an update to an unsigned image.
    pub async fn force(&self, image: &str) -> Result<()> {
        let image = Some(image.to_owned());
        self.request(json!(Update { image, force: Some(true), ..Update::default() })).await
    }

    /// Waits until the status meets a condition. Returns that status.
    pub async fn wait_until(
        &self,
        within: Duration,
        what: &str,
        condition: impl Fn(&ClusterVersionStatus) -> bool,
    ) -> Result<ClusterVersionStatus> {
        let waiting = async {
            loop {
                // Errors are retried: tests inject faults, and the CRD may not be served yet.
                if let Ok(Some(status)) = self.watch_until(&condition).await {
                    return status;
                }
                sleep_until(Instant::now() + POLL_INTERVAL).await;
            }
        };
        let waited = timeout(within, waiting).await;
        waited.with_context(|| format!("timed out after {} s waiting for {what}", within.as_secs()))
    }

    /// Returns `None` if the watch ends before the status meets the condition.
    async fn watch_until(
        &self,
        condition: impl Fn(&ClusterVersionStatus) -> bool,
    ) -> Result<Option<ClusterVersionStatus>> {
        let is_met = |found: ClusterVersion| found.status.filter(&condition);
        let object = self.get().await?;
        let version = object.resource_version().unwrap_or_default();
        if let Some(status) = is_met(object) {
            return Ok(Some(status));
        }
        let only = WatchParams::default().fields(&format!("metadata.name={CLUSTER_VERSION_NAME}"));
        let mut events = std::pin::pin!(self.api.watch(&only, &version).await?);
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    if let Some(status) = is_met(object) {
                        return Ok(Some(status));
                    }
                }
                WatchEvent::Bookmark(_) => {}
                WatchEvent::Deleted(_) | WatchEvent::Error(_) => return Ok(None),
            }
        }
        Ok(None)
    }
}

/// Whether the newest history entry has this version and is completed.
pub fn has_completed(status: &ClusterVersionStatus, version: &str) -> bool {
    status.history.first().is_some_and(|newest| {
        newest.version.as_deref() == Some(version) && newest.state == UpdateState::Completed
    })
}

/// Versions and states of the history, newest first.
pub fn history(status: &ClusterVersionStatus) -> Vec<(&str, UpdateState)> {
    let entries = status.history.iter();
    entries
        .map(|entry| (entry.version.as_deref().unwrap_or_default(), entry.state.clone()))
        .collect()
}

/// The message of a condition, empty if the status does not have the condition.
pub fn message<'a>(status: &'a ClusterVersionStatus, type_: &str) -> &'a str {
    let condition = status.conditions.find(type_);
    condition.and_then(|condition| condition.message.as_deref()).unwrap_or_default()
}
