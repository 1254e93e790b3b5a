//! The stage `status`: the one writer of ClusterVersion.
//!
//! It puts together everybody's latest snapshot and writes what comes of it where that differs
//! from what is there.

mod compose;
mod conditions;
mod history;
mod invalid;
mod pace;
mod release;
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
use crate::stage::rollout::waiting::next_slow;
use crate::stage::target::Target;
use crate::stage::updates::Updates;
use compose::{Facts, compose};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, ClusterVersionStatus};
use fairway_backoff::Backoff;
use jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use pace::{News, Pace};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Who writes, in `managedFields`.
const FIELD_MANAGER: &str = "fairway-status";

/// How long a write may take, and how long its echo: then it is tried again with what is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// The delay after a failed write.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_mins(1) };

/// What the status is made of.
pub(crate) struct Inputs {
    pub(crate) own: Arc<OwnRelease>,
    pub(crate) cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    pub(crate) updates: watch::Receiver<Option<Arc<Updates>>>,
    pub(crate) preflight: watch::Receiver<Option<Arc<Preflight>>>,
    pub(crate) risks: watch::Receiver<Option<Arc<Risks>>>,
    pub(crate) target: watch::Receiver<Option<Arc<Target>>>,
    pub(crate) rollout: watch::Receiver<Option<Arc<Rollout>>>,
}

/// Keeps the status right for as long as this operator leads.
pub(crate) async fn run(
    mut inputs: Inputs,
    api: Api<ClusterVersion>,
    leadership: Leadership,
    metrics: metrics::Status,
) {
    let mut settled = None;
    let mut failures = 0;
    let mut pace = Pace::default();
    loop {
        let due = match inputs.wanted(settled.as_ref()) {
            None => inputs.next_slow().map(fairway_clock::instant_of),
            Some(wanted) if !pace.allows(wanted.news, Instant::now()) => pace.due(wanted.news),
            Some(Wanted { object, news }) => {
                // Who leads no more is dropped by the election, and until then writes nothing.
                let Ok(written) = leadership.write(write(&api, &object, &metrics)).await else {
                    return std::future::pending().await;
                };
                match written {
                    Ok(stored) => {
                        failures = 0;
                        pace.note(news, Instant::now());
                        inputs.echo(&object, stored.as_ref()).await;
                        settled = stored.map(|stored| Settled::new(object, stored));
                    }
                    Err(error) => {
                        complain(&error);
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
            goes_on = inputs.changed() => {
                if !goes_on {
                    return;
                }
            }
            () = fairway_clock::sleep_until(due) => {}
        }
    }
}

/// ClusterVersion as it should be, and what is new about it.
struct Wanted {
    object: ClusterVersion,
    news: News,
}

/// What was sent, and what the API server made of it: one with an older definition drops fields.
struct Settled {
    sent: Option<ClusterVersionStatus>,
    stored: Option<ClusterVersionStatus>,
}

impl Settled {
    fn new(sent: ClusterVersion, stored: ClusterVersion) -> Self {
        Self { sent: sent.status, stored: stored.status }
    }
}

impl Inputs {
    /// ClusterVersion as it should be, if it is not, and if writing it would change something.
    fn wanted(&mut self, settled: Option<&Settled>) -> Option<Wanted> {
        let seen = self.cluster_version.borrow_and_update().clone();
        let updates = self.updates.borrow_and_update().clone();
        let preflight = self.preflight.borrow_and_update().clone();
        let risks = self.risks.borrow_and_update().clone();
        let target = self.target.borrow_and_update().clone();
        let rollout = self.rollout.borrow_and_update().clone();
        let cluster_version = only(seen.as_ref())?;
        let facts = Facts {
            own: &self.own,
            updates: updates.as_deref(),
            preflight: preflight.as_deref(),
            risks: risks.as_deref(),
            target: target.as_deref(),
            rollout: rollout.as_deref(),
        };
        let before = &cluster_version.status;
        let status = Some(compose(cluster_version, facts, fairway_clock::now()));
        let is_settled =
            settled.is_some_and(|settled| settled.sent == status && settled.stored == *before);
        if *before == status || is_settled {
            return None;
        }
        let news = News::between(before.as_ref(), status.as_ref());
        let object = ClusterVersion { status, ..ClusterVersion::clone(cluster_version) };
        Some(Wanted { object, news })
    }

    /// When the status changes by itself: because something takes too long.
    fn next_slow(&self) -> Option<Timestamp> {
        let rollout = self.rollout.borrow();
        rollout.as_ref().and_then(|rollout| next_slow(&rollout.failures, fairway_clock::now()))
    }

    /// Waits until the watch shows what was written, or what somebody else wrote: before, another
    /// write could only fail.
    async fn echo(&mut self, written: &ClusterVersion, stored: Option<&ClusterVersion>) {
        let revision = written.resource_version();
        if stored.is_some_and(|stored| stored.resource_version() == revision) {
            return;
        }
        let moved = |seen: &Option<Objects<ClusterVersion>>| {
            only(seen.as_ref()).is_none_or(|object| object.resource_version() != revision)
        };
        // Without an echo the next write tells.
        let _ = timeout(PATIENCE, self.cluster_version.wait_for(moved)).await;
    }

    /// Waits for something new; `false` when there is nobody left to say something.
    async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.cluster_version.changed() => changed.is_ok(),
            changed = self.updates.changed() => changed.is_ok(),
            changed = self.preflight.changed() => changed.is_ok(),
            changed = self.risks.changed() => changed.is_ok(),
            changed = self.target.changed() => changed.is_ok(),
            changed = self.rollout.changed() => changed.is_ok(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("request to the API server timed out after {} seconds", PATIENCE.as_secs())]
    TooSlow,
    #[error("request to the API server failed")]
    Refused(#[from] kube::Error),
}

/// Writes the whole status; what the API server stored. Somebody else's write in between is no
/// failure: the watch shows it, and everything is put together again.
async fn write(
    api: &Api<ClusterVersion>,
    wanted: &ClusterVersion,
    metrics: &metrics::Status,
) -> Result<Option<ClusterVersion>, WriteError> {
    let parameters = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), dry_run: false };
    let write = api.replace_status(CLUSTER_VERSION_NAME, &parameters, wanted);
    match timeout(PATIENCE, write).await {
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
            Err(WriteError::TooSlow)
        }
    }
}

fn complain(error: &WriteError) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, "cannot write ClusterVersion status; retrying");
}
