//! Reporting: writes the ClusterOperator when its desired status changes, and corrects drift.

mod compose;
mod contention;
mod view;

use std::sync::Arc;
use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_api::ClusterVersion;
use fairway_api::cluster_operator::ClusterOperatorStatus;
use fairway_apply::ContentionBackoff;
use fairway_compat::olm::{MinorVersion, OlmCheck, OperatorVerdict};
use fairway_election::Leadership;
use jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::catalogs::CatalogContents;
use crate::metrics::Metrics;
use crate::needs::OperatorNeeds;
use crate::observed::ObservedApis;
use crate::request::in_time;
use crate::settings::Settings;
use crate::watches::{CLUSTER_OPERATORS, LeaderWatches, Singleton, StaleWatches, WatchReceiver};
use compose::{ReportInputs, compose};
use contention::{EventRecorder, other_writer};
use view::View;

/// Field manager of the ClusterOperator.
const MANAGER: &str = "fairway-olm-guard";

/// Debounce of changes: operators are installed in groups.
const DEBOUNCE_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum delay by the debounce.
const MAX_DEBOUNCE: Duration = Duration::from_secs(2);

/// Delay after a failed write.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Inputs of the report.
pub(crate) struct Sources {
    pub(crate) cluster_version: WatchReceiver<Singleton<ClusterVersion>>,
    /// Stale watch of ClusterVersion.
    pub(crate) stale: watch::Receiver<StaleWatches>,
    pub(crate) watches: LeaderWatches,
    /// Content of the catalogs.
    pub(crate) catalogs: WatchReceiver<CatalogContents>,
    /// APIs that operators use.
    pub(crate) needs: WatchReceiver<OperatorNeeds>,
    /// Kubernetes version and requests for removed APIs.
    pub(crate) observed: WatchReceiver<ObservedApis>,
    /// Problem of the webhook certificate.
    pub(crate) problem: watch::Receiver<Option<String>>,
}

/// Writes the ClusterOperator.
pub(crate) struct Reporter {
    client: Client,
    leadership: Leadership,
    settings: Settings,
    sources: Sources,
    metrics: Arc<Metrics>,
    events: EventRecorder,
    /// Whether the wait for missing inputs is over.
    is_late: bool,
    /// The last written status, without times.
    last_report: Option<ClusterOperatorStatus>,
    contention: ContentionBackoff,
}

/// A desired status.
struct DesiredReport {
    status: ClusterOperatorStatus,
    /// The same without times, for comparison.
    timeless: ClusterOperatorStatus,
}

/// Result of a write.
#[derive(PartialEq, Eq)]
enum WriteOutcome {
    Written,
    /// Another client wrote first, or the Lease is lost.
    Conflict,
}

/// Reports while this replica is the leader.
pub(crate) async fn report(mut reporter: Reporter) {
    let grace_period = fairway_clock::pause(reporter.settings.staleness.first_status);
    tokio::pin!(grace_period);
    loop {
        let next = match reporter.reconcile().await {
            Ok(next) => next,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "cannot write ClusterOperator; retrying");
                reporter.metrics.write_failed();
                Some(Instant::now() + RETRY_DELAY)
            }
        };
        tokio::select! {
            open = reporter.sources.changed() => if !open { return },
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => continue,
            () = grace_period.as_mut(), if !reporter.is_late => reporter.is_late = true,
        }
        reporter.sources.debounce().await;
    }
}

impl Sources {
    /// Waits for a change; `false` if a sender is gone.
    async fn changed(&mut self) -> bool {
        let changed = tokio::select! {
            changed = self.cluster_version.changed() => changed,
            changed = self.stale.changed() => changed,
            changed = self.watches.operators.changed() => changed,
            changed = self.watches.cluster_operator.changed() => changed,
            changed = self.watches.stale.changed() => changed,
            changed = self.catalogs.changed() => changed,
            changed = self.needs.changed() => changed,
            changed = self.observed.changed() => changed,
            changed = self.problem.changed() => changed,
        };
        changed.is_ok()
    }

    /// Waits while changes follow each other, for the maximum delay at most.
    async fn debounce(&mut self) {
        let end = Instant::now() + MAX_DEBOUNCE;
        while Instant::now() < end {
            let quiet = end.min(Instant::now() + DEBOUNCE_INTERVAL);
            if !matches!(timeout_at(quiet, self.changed()).await, Ok(true)) {
                return;
            }
        }
    }

    fn view(&mut self, is_late: bool) -> View {
        View {
            version: self.cluster_version.borrow_and_update().clone(),
            version_stale: self.stale.borrow_and_update().clone(),
            operators: self.watches.operators.borrow_and_update().clone(),
            subscriptions: self.watches.subscriptions.borrow().clone(),
            stale: self.watches.stale.borrow_and_update().clone(),
            catalogs: self.catalogs.borrow_and_update().clone(),
            needs: self.needs.borrow_and_update().clone(),
            observed: self.observed.borrow_and_update().clone(),
            is_late,
        }
    }
}

impl Reporter {
    pub(crate) fn new(
        client: Client,
        leadership: Leadership,
        settings: Settings,
        sources: Sources,
        metrics: Arc<Metrics>,
    ) -> Self {
        let events =
            EventRecorder::new(client.clone(), &settings.cluster_operator, leadership.clone());
        Self {
            client,
            leadership,
            settings,
            sources,
            metrics,
            events,
            is_late: false,
            last_report: None,
            contention: ContentionBackoff::default(),
        }
    }

    /// Writes the desired status if it differs; returns the time of the next reconciliation without a
    /// change.
    async fn reconcile(&mut self) -> Result<Option<Instant>, kube::Error> {
        if self.contention.reset_if_ended(Instant::now()) {
            self.metrics.contended(&self.settings.cluster_operator, None);
        }
        let before = self.before().await?;
        let desired = before.as_deref().and_then(|before| self.desired(before.as_ref()));
        match (before.as_deref(), desired) {
            (Some(before), Some(desired)) => self.write_desired(desired, before.as_ref()).await,
            _ => Ok(self.contention.end()),
        }
    }

    /// The live ClusterOperator. With a stale watch it is read by GET, so that a stale status does not
    /// stay for ever.
    async fn before(&mut self) -> Result<Option<Arc<Singleton<ClusterOperator>>>, kube::Error> {
        let seen = self.sources.watches.cluster_operator.borrow_and_update().clone();
        if !self.is_watch_stale() {
            return Ok(seen);
        }
        let api = Api::<ClusterOperator>::all(self.client.clone());
        let found = in_time(api.get_opt(&self.settings.cluster_operator)).await?;
        Ok(Some(Arc::new(found)))
    }

    fn is_watch_stale(&self) -> bool {
        self.sources.watches.stale.borrow().why(CLUSTER_OPERATORS).is_some()
    }

    /// The desired status; `None` if it equals the live one, or without a ClusterVersion, because the
    /// cluster is then no OpenShift platform.
    fn desired(&mut self, before: Option<&ClusterOperator>) -> Option<DesiredReport> {
        let problem = self.sources.problem.borrow_and_update().clone();
        let view = self.sources.view(self.is_late);
        if view.version.is_none() && before.is_none() {
            // It is unknown whether the cluster has a ClusterVersion: do not create an object.
            return None;
        }
        let unknown = view.unknown();
        let seen = view.evaluate(self.settings.policy)?;
        if let Ok((guard, running)) = &seen {
            self.count(guard, *running);
        }
        let inputs = ReportInputs { seen: seen.as_ref(), problem: problem.as_deref(), unknown };
        let status = before.and_then(|before| before.status.as_ref());
        let wanted = compose(status, &inputs, &self.settings, fairway_clock::now());
        let timeless = || compose(None, &inputs, &self.settings, Timestamp::UNIX_EPOCH);
        (status != Some(&wanted)).then(|| DesiredReport { timeless: timeless(), status: wanted })
    }

    /// Writes a status: a new one at once, and a correction of another client's change with backoff.
    async fn write_desired(
        &mut self,
        desired: DesiredReport,
        before: Option<&ClusterOperator>,
    ) -> Result<Option<Instant>, kube::Error> {
        let is_repair = self.last_report.as_ref() == Some(&desired.timeless);
        let now = Instant::now();
        let next_correction = self.contention.next_correction(now);
        if is_repair && next_correction > now {
            return Ok(Some(next_correction));
        }
        let mut object = match before {
            Some(object) => object.clone(),
            None => match self.create().await? {
                Some(object) => object,
                None => return Ok(self.next_after_conflict(now)),
            },
        };
        object.status = Some(desired.status);
        if self.write(&object).await? == WriteOutcome::Conflict {
            return Ok(self.next_after_conflict(now));
        }
        self.last_report = Some(desired.timeless);
        if is_repair {
            let writer = before.and_then(|before| other_writer(before, MANAGER));
            self.record_repair(writer.as_deref()).await;
        }
        Ok(self.contention.end())
    }

    /// Time of the next reconciliation after a conflict: the watch reports the newer state, if it works.
    fn next_after_conflict(&self, now: Instant) -> Option<Instant> {
        if self.is_watch_stale() { Some(now + RETRY_DELAY) } else { self.contention.end() }
    }

    async fn record_repair(&mut self, writer: Option<&str>) {
        let Some(repairs) = self.contention.corrected(Instant::now()) else { return };
        tracing::warn!(
            rival = writer,
            repairs,
            "another client repeatedly changes the ClusterOperator"
        );
        self.metrics.contended(&self.settings.cluster_operator, Some(repairs));
        self.events.record_contention(writer).await;
    }

    fn count(&self, guard: &OlmCheck, running: MinorVersion) {
        for verdict in
            [OperatorVerdict::Upgradeable, OperatorVerdict::MayNotRun, OperatorVerdict::WillNotRun]
        {
            let of = |it: &&_| guard.verdict(it, running.next()) == verdict;
            let count = guard.operators().iter().filter(of).count();
            self.metrics.operators(verdict.as_str(), count);
        }
    }

    /// Creates the ClusterOperator; `None` if it exists already.
    async fn create(&self) -> Result<Option<ClusterOperator>, kube::Error> {
        let metadata = ObjectMeta {
            name: Some(self.settings.cluster_operator.clone()),
            ..ObjectMeta::default()
        };
        let object = ClusterOperator { metadata, ..ClusterOperator::default() };
        let api = Api::<ClusterOperator>::all(self.client.clone());
        let parameters = parameters();
        match self.leadership.write(in_time(api.create(&parameters, &object))).await {
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Ok(None),
            Ok(made) => made.map(Some),
            // After a lost Lease, election drops this task.
            Err(_) => Ok(None),
        }
    }

    async fn write(&self, object: &ClusterOperator) -> Result<WriteOutcome, kube::Error> {
        let api = Api::<ClusterOperator>::all(self.client.clone());
        let parameters = parameters();
        let write = api.replace_status(&self.settings.cluster_operator, &parameters, object);
        match self.leadership.write(in_time(write)).await {
            // The watch reports the newer state.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Ok(WriteOutcome::Conflict),
            Ok(written) => {
                written?;
                self.metrics.wrote_status();
                Ok(WriteOutcome::Written)
            }
            Err(lost) => {
                tracing::info!(%lost, "leadership lost; writes stopped");
                Ok(WriteOutcome::Conflict)
            }
        }
    }
}

fn parameters() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}
