//! The stage `status`: the only writer of the status of ClusterVersion.
//!
//! It composes the latest outputs of all stages and writes the status if it differs from the live
//! one. The status is a function of these outputs, the previous status and the time.
//!
//! | module | content |
//! | --- | --- |
//! | `compose` | the status as a function |
//! | `conditions` | conditions about the target release |
//! | `history` | history of releases |
//! | `invalid` | the condition `Invalid` |
//! | `rate_limit` | rate limit of writes: transitions first, progress last |

mod compose;
mod conditions;
mod history;
mod invalid;
mod rate_limit;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use crate::cluster::{Objects, only};
use crate::election::Leadership;
use crate::metrics;
use crate::own_release::OwnRelease;
use crate::stage::preflight::Preflight;
use crate::stage::risks::Risks;
use crate::stage::rollout::Rollout;
use crate::stage::rollout::summary::next_slow;
use crate::stage::target::Target;
use crate::stage::updates::Updates;
use crate::sync::any_changed;
use compose::{StageOutputs, compose};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, ClusterVersionStatus};
use fairway_backoff::Backoff;
use jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use rate_limit::{ChangeKind, WriteRateLimit};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Field manager of the status.
const FIELD_MANAGER: &str = "fairway-status";

/// Timeout of a write, and of the wait for its watch event. After it, the write is repeated.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The delay after a failed write.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_mins(1) };

/// Inputs of the stage: the outputs of the others.
pub(crate) struct Inputs {
    pub(crate) own: Arc<OwnRelease>,
    pub(crate) cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    pub(crate) updates: watch::Receiver<Option<Arc<Updates>>>,
    pub(crate) preflight: watch::Receiver<Option<Arc<Preflight>>>,
    pub(crate) risks: watch::Receiver<Option<Arc<Risks>>>,
    pub(crate) target: watch::Receiver<Option<Arc<Target>>>,
    pub(crate) rollout: watch::Receiver<Option<Arc<Rollout>>>,
}

/// Keeps the status of ClusterVersion up to date while this operator is the leader.
pub(crate) async fn run(
    mut inputs: Inputs,
    api: Api<ClusterVersion>,
    leadership: Leadership,
    metrics: metrics::Status,
) {
    let mut last_write = None;
    let mut failures = 0;
    let mut rate_limit = WriteRateLimit::default();
    loop {
        let due = match inputs.desired(last_write.as_ref()) {
            None => inputs.next_slow().map(fairway_clock::instant_of),
            Some(wanted) if !rate_limit.allows(wanted.change, Instant::now()) => {
                rate_limit.due(wanted.change)
            }
            Some(DesiredStatus { object, change }) => {
                // After a lost Lease, election drops this future; until then it writes nothing.
                let Ok(written) = leadership.write(write(&api, &object, &metrics)).await else {
                    return std::future::pending().await;
                };
                match written {
                    Ok(stored) => {
                        failures = 0;
                        rate_limit.record(change, Instant::now());
                        inputs.await_event(&object, stored.as_ref()).await;
                        last_write = stored.map(|stored| LastWrite::new(object, stored));
                    }
                    Err(error) => {
                        log_error(&error);
                        failures += 1;
                        fairway_clock::sleep_until(Some(
                            Instant::now() + RETRY_BACKOFF.after(failures),
                        ))
                        .await;
                    }
                }
                continue;
            }
        };
        tokio::select! {
                        open = inputs.changed() => {
                            if !open {
                    return;
                }
            }
            () = fairway_clock::sleep_until(due) => {}
        }
    }
}

/// ClusterVersion with the desired status, and the kind of its change.
struct DesiredStatus {
    object: ClusterVersion,
    change: ChangeKind,
}

/// The last written status, and what the API server stored: an older CRD drops fields.
struct LastWrite {
    sent: Option<ClusterVersionStatus>,
    stored: Option<ClusterVersionStatus>,
}

impl LastWrite {
    fn new(sent: ClusterVersion, stored: ClusterVersion) -> Self {
        Self { sent: sent.status, stored: stored.status }
    }
}

impl Inputs {
    /// ClusterVersion with the desired status, if a write would change something.
    fn desired(&mut self, last_write: Option<&LastWrite>) -> Option<DesiredStatus> {
        let seen = self.cluster_version.borrow_and_update().clone();
        let updates = self.updates.borrow_and_update().clone();
        let preflight = self.preflight.borrow_and_update().clone();
        let risks = self.risks.borrow_and_update().clone();
        let target = self.target.borrow_and_update().clone();
        let rollout = self.rollout.borrow_and_update().clone();
        let cluster_version = only(seen.as_ref())?;
        let outputs = StageOutputs {
            own: &self.own,
            updates: updates.as_deref(),
            preflight: preflight.as_deref(),
            risks: risks.as_deref(),
            target: target.as_deref(),
            rollout: rollout.as_deref(),
        };
        let before = &cluster_version.status;
        let status = Some(compose(cluster_version, outputs, fairway_clock::now()));
        let is_settled = last_write
            .is_some_and(|last_write| last_write.sent == status && last_write.stored == *before);
        if *before == status || is_settled {
            return None;
        }
        let change = ChangeKind::between(before.as_ref(), status.as_ref());
        let object = ClusterVersion { status, ..ClusterVersion::clone(cluster_version) };
        Some(DesiredStatus { object, change })
    }

    /// Time at which the status changes by itself, because an operator is slow.
    fn next_slow(&self) -> Option<Timestamp> {
        let rollout = self.rollout.borrow();
        rollout.as_ref().and_then(|rollout| next_slow(&rollout.failures, fairway_clock::now()))
    }

    /// Waits until the watch shows the write, or a write of another client: before that, the next
    /// write would fail with a conflict.
    async fn await_event(&mut self, written: &ClusterVersion, stored: Option<&ClusterVersion>) {
        let revision = written.resource_version();
        if stored.is_some_and(|stored| stored.resource_version() == revision) {
            return;
        }
        let moved = |seen: &Option<Objects<ClusterVersion>>| {
            only(seen.as_ref()).is_none_or(|object| object.resource_version() != revision)
        };
        // Without an event, the next write shows the state.
        let _ = timeout(WRITE_TIMEOUT, self.cluster_version.wait_for(moved)).await;
    }

    /// Waits for a change; `false` if a sender is gone.
    async fn changed(&mut self) -> bool {
        any_changed!(
            self.cluster_version,
            self.updates,
            self.preflight,
            self.risks,
            self.target,
            self.rollout
        )
    }
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("request to the API server timed out after {} seconds", WRITE_TIMEOUT.as_secs())]
    TimedOut,
    #[error("request to the API server failed")]
    Refused(#[from] kube::Error),
}

/// Writes the status; returns what the API server stored. A conflict is no failure: the watch shows
/// the other write, and the status is composed again.
async fn write(
    api: &Api<ClusterVersion>,
    wanted: &ClusterVersion,
    metrics: &metrics::Status,
) -> Result<Option<ClusterVersion>, WriteError> {
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
    let write = api.replace_status(CLUSTER_VERSION_NAME, &parameters, wanted);
    match timeout(WRITE_TIMEOUT, write).await {
        Ok(Ok(stored)) => {
            metrics.written();
            Ok(Some(stored))
        }
        Ok(Err(kube::Error::Api(refusal))) if refusal.code == 409 => {
            metrics.conflicted();
            Ok(None)
        }
        Ok(Err(error)) => {
            metrics.failed();
            Err(error.into())
        }
        Err(_) => {
            metrics.failed();
            Err(WriteError::TimedOut)
        }
    }
}

fn log_error(error: &WriteError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "cannot write ClusterVersion status; retrying");
}
