//! Start and shutdown of the operator: the endpoint, leader election, and the stages of the leader.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use fairway_cincinnati::query::RunningRelease;
use fairway_watch::WatchMonitors;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::apply::Applier;
use crate::cluster::{ClusterWatches, InjectedConfig, TlsProfile};
use crate::election::{self, Leadership, LostLease, TimingError};
use crate::endpoint::{self, EndpointError, EndpointTasks, MetricsContent, Operations, Phase};
use crate::flow_control;
use crate::metrics::{Metrics, Running};
use crate::own_release::{self, OwnRelease, OwnReleaseError};
use crate::settings::{ReleaseSettings, Settings};
use crate::stage::{preflight, risks, rollout, status, target, updates};
use crate::sync::publish;

/// Time for open HTTP connections to end during shutdown; the operator then closes them.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(5);

/// Errors that end the operator.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The payload of the operator's own release is missing or invalid.
    #[error("cannot determine the release of this operator")]
    OwnRelease(#[from] OwnReleaseError),
    /// The durations of leader election contradict each other.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// A task ended that runs as long as the operator.
    #[error("a task of the operator failed")]
    TaskFailed(#[source] Option<JoinError>),
    /// The endpoint for metrics has an invalid certificate.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// Runs the operator until `stop` is cancelled. An operator that loses the Lease waits for it again.
pub async fn run(
    client: Client,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), OperatorError> {
    settings.election.timing.check()?;
    let ReleaseSettings { image, payload } = &settings.release;
    let own = OwnRelease::read(payload, image)?;
    let own_content = own_release::content(payload, image, &settings.target.selection.profile)?;
    let metrics = Arc::new(Metrics::default());
    let (phase, phase_receiver) = watch::channel(Phase::Waiting);
    let (tls_profile, tls_profiles) = watch::channel(None);
    let endpoints = EndpointTasks::default();
    // Neither endpoint delays the election: without its port, the operator leads, and retries.
    if let Some(endpoint) = settings.endpoint.clone() {
        let content = MetricsContent {
            metrics: Arc::clone(&metrics),
            client: client.clone(),
            tls_profile: tls_profiles,
        };
        endpoint::start(endpoint, content, endpoints.clone())?;
    }
    if let Some(address) = settings.probes {
        let operations =
            Operations { metrics: Arc::clone(&metrics), phase: phase_receiver, stop: stop.clone() };
        endpoint::start_probes(address, operations, endpoints.clone());
    }
    let (own, own_content) = (Arc::new(own), Arc::new(own_content));
    let operator =
        Operator { client, settings, own, own_content, stop, metrics, phase, tls_profile };
    let ended = operator.lead().await;
    let EndpointTasks { tasks, closing } = endpoints;
    closing.cancel();
    tasks.close();
    if timeout(SHUTDOWN_GRACE_PERIOD, tasks.wait()).await.is_err() {
        tracing::warn!("HTTP connections still open after shutdown grace period");
    }
    ended
}

struct Operator {
    client: Client,
    settings: Settings,
    own: Arc<OwnRelease>,
    own_content: Arc<fairway_release::Release>,
    stop: CancellationToken,
    metrics: Arc<Metrics>,
    phase: watch::Sender<Phase>,
    /// TLS profile of the endpoint for metrics. After a lost Lease, the last one stays in use.
    tls_profile: watch::Sender<Option<TlsProfile>>,
}

impl Operator {
    /// Runs the stages whenever this replica holds the Lease.
    async fn lead(&self) -> Result<(), OperatorError> {
        loop {
            let client = self.client.clone();
            let work = async |leadership| self.work(leadership).await;
            match election::lead(client, &self.settings.election, &self.stop, work).await {
                Ok(worked) => return worked.unwrap_or(Ok(())),
                Err(LostLease) => drop(self.phase.send_replace(Phase::Waiting)),
            }
        }
    }

    /// Runs the stages as the leader, until `stop` is cancelled or the operator of a new release
    /// takes over. All tasks started here end when this future is dropped: watches end with their
    /// last receiver.
    async fn work(&self, leadership: Leadership) -> Result<(), OperatorError> {
        self.phase.send_replace(Phase::Starting);
        let monitors = WatchMonitors::new(self.settings.max_watch_age);
        let watches = ClusterWatches::open(&self.client, &TaskTracker::new(), &monitors);
        let running = Running {
            version: self.own.release.version.clone(),
            image: self.own.release.image.clone(),
            created: self.own.created,
        };
        let superseded = CancellationToken::new();
        tokio::select! {
            () = self.stop.cancelled() => Ok(()),
            () = self.metrics.follow(watches.clone(), running) => Err(OperatorError::TaskFailed(None)),
            () = self.announce(watches.clone()) => Err(OperatorError::TaskFailed(None)),
            () = monitors.run() => Err(OperatorError::TaskFailed(None)),
            () = self.follow_tls_profile(watches.clone()) => Err(OperatorError::TaskFailed(None)),
            () = Box::pin(flow_control::keep(&self.client, &leadership)) => {
                Err(OperatorError::TaskFailed(None))
            }
            // Ending here releases the Lease, so that the operator of the new release starts at once.
            () = superseded.cancelled() => Ok(()),
            failed = self.stages(watches, leadership.clone(), superseded.clone()) => Err(failed),
        }
    }

    /// Runs the stages, each as a task, so that a slow one does not delay the others. Data flows one
    /// way, from the watches to the status. No stage ends by itself.
    async fn stages(
        &self,
        watches: ClusterWatches,
        leadership: Leadership,
        superseded: CancellationToken,
    ) -> OperatorError {
        let (updates_out, updates) = watch::channel(None);
        let (preflight_out, preflight) = watch::channel(None);
        let (risks_out, risks) = watch::channel(None);
        let (target_out, target) = watch::channel(None);
        let (rollout_out, rollout) = watch::channel(None);
        let mut tasks = JoinSet::new();
        tasks.spawn(updates::run(
            updates::Inputs::new(&watches, Arc::new(self.current())),
            self.settings.updates.clone(),
            self.metrics.updates(),
            updates_out,
        ));
        tasks.spawn(preflight::run(
            preflight::Inputs::new(&watches, &self.own, &self.own_content, updates.clone()),
            self.preflight_place(),
            self.settings.preflight.clone(),
            self.preflight_writer(&leadership),
            self.metrics.preflight(),
            preflight_out,
        ));
        tasks.spawn(risks::run(
            risks::Inputs {
                own: Arc::clone(&self.own),
                cluster_version: watches.cluster_version.clone(),
                cluster_operators: watches.cluster_operators.clone(),
                admin_gates: watches.admin_gates,
                admin_acks: watches.admin_acks,
                stale: watches.stale.clone(),
                updates: updates.clone(),
                preflight: preflight.clone(),
                rollout: rollout.clone(),
                deleting: Vec::new(),
                remembered_alerts: None,
            },
            self.settings.risks.clone(),
            risks::ClusterAccess {
                client: self.client.clone(),
                leadership: leadership.clone(),
                namespace: self.settings.election.lease.namespace.clone(),
            },
            self.metrics.queries(),
            risks_out,
        ));
        tasks.spawn(target::run(
            target::Inputs {
                own: Arc::clone(&self.own),
                own_content: Arc::clone(&self.own_content),
                cluster_version: watches.cluster_version.clone(),
                features: watches.features,
                proxy: watches.proxy.clone(),
                trusted_ca: watches.trusted_ca,
                stale: watches.stale,
                risks: risks.clone(),
                preflight: preflight.clone(),
            },
            self.settings.target.clone(),
            self.settings.preflight.on_update,
            self.client.clone(),
            leadership.clone(),
            target_out,
        ));
        tasks.spawn(rollout::run(
            rollout::Inputs {
                own_image: self.own.release.image.clone(),
                target: target.clone(),
                cluster_version: watches.cluster_version.clone(),
                cluster_operators: watches.cluster_operators,
                surroundings: watches.surroundings,
            },
            rollout::RolloutWriters {
                applier: Applier::new(self.client.clone(), leadership.clone()),
                client: self.client.clone(),
                leadership: leadership.clone(),
            },
            rollout::RetryPolicy::default(),
            self.metrics.rollout(),
            superseded,
            rollout_out,
        ));
        tasks.spawn(status::run(
            status::Inputs {
                own: Arc::clone(&self.own),
                cluster_version: watches.cluster_version,
                updates,
                preflight,
                risks,
                target,
                rollout,
            },
            Api::all(self.client.clone()),
            leadership,
            self.metrics.status(),
        ));
        let ended = tasks.join_next().await;
        OperatorError::TaskFailed(ended.and_then(Result::err))
    }

    /// Where preflights run, and how they retrieve their release.
    fn preflight_place(&self) -> preflight::PreflightPlacement {
        preflight::PreflightPlacement {
            namespace: self.settings.election.lease.namespace.clone(),
            node: self.settings.node_name.clone(),
            layouts: self.settings.target.images.clone(),
            selection: self.settings.target.selection.clone(),
        }
    }

    /// Writes the objects of preflights while this replica is the leader.
    fn preflight_writer(&self, leadership: &Leadership) -> preflight::PreflightWriter {
        preflight::PreflightWriter { client: self.client.clone(), leadership: leadership.clone() }
    }

    /// The running release, as the update service needs it.
    fn current(&self) -> RunningRelease {
        RunningRelease {
            version: self.own.release.version.clone(),
            architecture: self.own.architecture.clone(),
            image: self.own.release.image.clone(),
        }
    }

    /// Applies the TLS profile of the cluster to the endpoint for metrics.
    async fn follow_tls_profile(&self, mut watches: ClusterWatches) {
        loop {
            let latest = watches.surroundings.borrow_and_update().clone();
            if let Some(InjectedConfig { tls, .. }) = latest {
                publish(&self.tls_profile, tls);
            }
            if watches.surroundings.changed().await.is_err() {
                return;
            }
        }
    }

    /// Sets the phase `Leading` once the watches that every stage needs have synced.
    async fn announce(&self, mut watches: ClusterWatches) {
        let seen = async {
            watches.cluster_version.wait_for(Option::is_some).await?;
            watches.cluster_operators.wait_for(Option::is_some).await?;
            Ok::<_, watch::error::RecvError>(())
        };
        if seen.await.is_ok() {
            self.phase.send_replace(Phase::Leading);
        }
        pending::<()>().await;
    }
}
