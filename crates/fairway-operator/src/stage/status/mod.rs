//! The stage `status`: the one writer of ClusterVersion.
//!
//! It puts together everybody's latest snapshot and writes what comes of it where that differs
//! from what is there.

mod compose;
mod invalid;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use crate::clock;
use crate::cluster::{Objects, only};
use crate::election::Leadership;
use crate::metrics;
use crate::own_release::OwnRelease;
use crate::stage::risks::Risks;
use crate::stage::updates::Updates;
use compose::{Facts, compose};

/// Who writes, in `managedFields`.
const FIELD_MANAGER: &str = "fairway-status";

/// How long a write may take, and how long its echo: then it is tried again with what is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// The time after a failed write: doubled with each, up to a minute.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// What the status is made of.
pub(crate) struct Inputs {
    pub(crate) own: Arc<OwnRelease>,
    pub(crate) cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    pub(crate) updates: watch::Receiver<Option<Arc<Updates>>>,
    pub(crate) risks: watch::Receiver<Option<Arc<Risks>>>,
}

/// Keeps the status right for as long as this operator leads.
pub(crate) async fn run(
    mut inputs: Inputs,
    api: Api<ClusterVersion>,
    leadership: Leadership,
    metrics: metrics::Status,
) {
    let mut failures = 0;
    loop {
        let written = match inputs.wanted() {
            None => Ok(()),
            Some(wanted) => {
                let write = write(&api, &wanted, &metrics);
                let Ok(written) = leadership.write(write).await else { return };
                if written.is_ok() {
                    inputs.echo(&wanted).await;
                }
                written
            }
        };
        let due = match written {
            Ok(()) => {
                failures = 0;
                None
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "the status of ClusterVersion cannot be written");
                failures += 1;
                Some(Instant::now() + pause(failures))
            }
        };
        let goes_on = match due {
            None => inputs.changed().await,
            Some(due) => timeout_at(due, std::future::pending()).await.unwrap_or(true),
        };
        if !goes_on {
            return;
        }
    }
}

impl Inputs {
    /// ClusterVersion as it should be, if it is not.
    fn wanted(&mut self) -> Option<ClusterVersion> {
        let seen = self.cluster_version.borrow_and_update().clone();
        let updates = self.updates.borrow_and_update().clone();
        let risks = self.risks.borrow_and_update().clone();
        let cluster_version = only(seen.as_ref())?;
        let facts = Facts { own: &self.own, updates: updates.as_deref(), risks: risks.as_deref() };
        let status = compose(cluster_version, facts, clock::now());
        if cluster_version.status.as_ref() == Some(&status) {
            return None;
        }
        Some(ClusterVersion { status: Some(status), ..ClusterVersion::clone(cluster_version) })
    }

    /// Waits until the watch shows what was written: before, another write could only fail.
    async fn echo(&mut self, written: &ClusterVersion) {
        let revision = written.resource_version();
        let moved = |seen: &Option<Objects<ClusterVersion>>| {
            only(seen.as_ref()).is_none_or(|object| object.resource_version() != revision)
        };
        let _ = timeout(PATIENCE, self.cluster_version.wait_for(moved)).await;
        // What `wait_for` has seen is still to be looked at.
        self.cluster_version.mark_changed();
    }

    /// Waits for something new; `false` when there is nobody left to say something.
    async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.cluster_version.changed() => changed.is_ok(),
            changed = self.updates.changed() => changed.is_ok(),
            changed = self.risks.changed() => changed.is_ok(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("the API server did not answer within {} seconds", PATIENCE.as_secs())]
    TooSlow,
    #[error("the API server refused it")]
    Refused(#[from] kube::Error),
}

/// Writes the whole status. Somebody else's write in between is no failure: the watch shows it,
/// and everything is put together again.
async fn write(
    api: &Api<ClusterVersion>,
    wanted: &ClusterVersion,
    metrics: &metrics::Status,
) -> Result<(), WriteError> {
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
    let write = api.replace_status(CLUSTER_VERSION_NAME, &parameters, wanted);
    match timeout(PATIENCE, write).await {
        Ok(Ok(_)) => metrics.written(),
        Ok(Err(kube::Error::Api(refusal))) if refusal.code == 409 => metrics.conflicted(),
        Ok(Err(error)) => {
            metrics.failed();
            return Err(error.into());
        }
        Err(_) => {
            metrics.failed();
            return Err(WriteError::TooSlow);
        }
    }
    Ok(())
}

fn pause(failures: u32) -> Duration {
    let (first, longest) = RETRY;
    first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(longest)
}
