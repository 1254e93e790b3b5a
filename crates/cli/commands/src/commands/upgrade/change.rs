//! Changes of ClusterVersion: read, decide, dry-run, patch, and poll for the effect. All commands
//! that change ClusterVersion use this pipeline.

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::anyhow;
use fairway_api::ClusterVersion;
use fairway_api::cluster_version::Update;
use serde_json::{Value, json};
use tokio::time::{interval, timeout};

use crate::args::source::SourceArgs;
use crate::args::upgrade::UpgradeArgs;
use crate::args::upgrade_preflight::PreflightAction;
use crate::cluster::{Cluster, DryRun, PatchResult};
use crate::errors::{WithHint, WrongUsage};
use crate::source::Source;

/// Attempts after conflicts. Other clients change ClusterVersion rarely.
const MAX_ATTEMPTS: usize = 5;

/// Interval between polls. A user waits for the result.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Change of ClusterVersion that a command has decided on.
pub(super) struct Change<T> {
    /// Merge patch with the resource version of the object that it was computed from, `None` if
    /// nothing changes.
    pub(super) patch: Option<Value>,
    /// Fails if an object does not have the changed fields: an API server with an older CRD drops
    /// unknown fields without an error.
    pub(super) verify: Verify,
    /// Result for the user.
    pub(super) outcome: T,
}

/// Check of an object that the API server returns.
pub(super) type Verify = Box<dyn Fn(&ClusterVersion) -> anyhow::Result<()>>;

/// Change after its patch.
pub(super) struct Applied<T> {
    pub(super) change: Change<T>,
    /// Stored object, `None` after a dry run or without a patch.
    pub(super) stored: Option<Box<ClusterVersion>>,
}

impl<T> Change<T> {
    /// Change without a patch.
    pub(super) fn none(outcome: T) -> Self {
        Self { patch: None, verify: Box::new(|_| Ok(())), outcome }
    }
}

/// Decides on a change, validates it with a dry run and stores it. Starts again after a conflict.
pub(super) async fn apply<T>(
    cluster: &Cluster,
    dry_run: bool,
    decide: impl Fn(&ClusterVersion) -> anyhow::Result<Change<T>>,
) -> anyhow::Result<Applied<T>> {
    for _ in 0..MAX_ATTEMPTS {
        let change = decide(&cluster.cluster_version().await?)?;
        let Some(patch) = &change.patch else { return Ok(Applied { change, stored: None }) };
        match cluster.patch_cluster_version(patch, DryRun::Yes).await? {
            PatchResult::Conflict => continue,
            PatchResult::Applied(result) => (change.verify)(&result)?,
        }
        if dry_run {
            return Ok(Applied { change, stored: None });
        }
        match cluster.patch_cluster_version(patch, DryRun::No).await? {
            PatchResult::Conflict => {}
            PatchResult::Applied(stored) => return Ok(Applied { change, stored: Some(stored) }),
        }
    }
    Err(anyhow!("conflict: another client changed the object each time").context(WithHint::new(
        format!("cannot update ClusterVersion after {MAX_ATTEMPTS} attempts"),
        "retry; run `kubectl get clusterversion version -o yaml --show-managed-fields` to find \
         the other client",
    )))
}

/// Applies a change to a live cluster; for a recorded cluster, only decides on it.
pub(super) async fn apply_or_preview<T>(
    source: &Source,
    dry_run: bool,
    decide: impl Fn(&ClusterVersion) -> anyhow::Result<Change<T>>,
) -> anyhow::Result<Change<T>> {
    match source {
        Source::Live(cluster) => Ok(apply(cluster, dry_run, decide).await?.change),
        Source::Recorded(_) => decide(&source.cluster_version().await?),
    }
}

/// Merge patch that sets `spec.desiredUpdate`, and nothing else of the spec.
pub(super) fn desired_update_patch(
    cluster_version: &ClusterVersion,
    update: &Update,
) -> serde_json::Result<Value> {
    // A `desiredUpdate` without fields is invalid.
    let desired = if *update == Update::default() { Value::Null } else { update.merge_patch()? };
    Ok(json!({
        "metadata": { "resourceVersion": cluster_version.metadata.resource_version },
        "spec": { "desiredUpdate": desired },
    }))
}

/// Limits of polling.
#[derive(Clone, Copy)]
pub(super) struct Poll {
    pub(super) timeout: Duration,
    /// Consecutive failures to tolerate: API servers restart during updates.
    pub(super) max_failures: usize,
}

impl Poll {
    /// Polls ClusterVersion until `observe` breaks with a result, `None` after the timeout.
    pub(super) async fn run<T>(
        self,
        cluster: &Cluster,
        mut observe: impl AsyncFnMut(ClusterVersion) -> ControlFlow<T>,
    ) -> anyhow::Result<Option<T>> {
        let polling = async {
            let (mut ticks, mut failures) = (interval(POLL_INTERVAL), 0);
            loop {
                ticks.tick().await;
                match cluster.cluster_version().await {
                    Ok(object) => {
                        failures = 0;
                        if let ControlFlow::Break(result) = observe(object).await {
                            return anyhow::Ok(result);
                        }
                    }
                    Err(error) if failures >= self.max_failures => return Err(error),
                    Err(_) => failures += 1,
                }
            }
        };
        // Dropping a poll at the timeout is safe: it only reads.
        timeout(self.timeout, polling).await.ok().transpose()
    }
}

/// Refuses a request to a recorded cluster.
pub(super) fn check_requests(
    args: &UpgradeArgs,
    preflight: Option<PreflightAction>,
) -> Result<(), WrongUsage> {
    let changes = match preflight {
        Some(PreflightAction::Status) => false,
        Some(_) => true,
        None => args.request.is_one(),
    };
    if changes && !args.source.recorded.from_file.is_empty() {
        return Err(WrongUsage(
            "--from-file reads a recorded cluster, which accepts no requests".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses to change a recorded cluster, for commands that can preview the change.
pub(super) fn check_preview(source: &SourceArgs, changes: bool) -> Result<(), WrongUsage> {
    if changes && !source.recorded.from_file.is_empty() {
        return Err(WrongUsage(
            "--from-file reads a recorded cluster, which cannot be changed; add --dry-run to \
             preview the change"
                .to_owned(),
        ));
    }
    Ok(())
}
