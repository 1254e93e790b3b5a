//! The operator as a whole: it tells about itself, waits for the lease, works, and ends.

use std::sync::Arc;
use std::time::Duration;

use fairway_cincinnati::question::Current;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::apply::Applier;
use crate::cluster::Sight;
use crate::election::{self, Leadership, LostLease, TimingError};
use crate::endpoint::{self, EndpointError, Operations, Phase};
use crate::metrics::{Metrics, Running};
use crate::own_release::{self, OwnRelease, OwnReleaseError};
use crate::settings::{ReleaseSettings, Settings};
use crate::stage::{preflight, risks, rollout, status, target, updates};

/// Connections that have not ended by then are cut.
const FAREWELL: Duration = Duration::from_secs(5);

/// Why an operator does not run.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// It does not know its own release.
    #[error("cannot determine the release of this operator")]
    OwnRelease(#[from] OwnReleaseError),
    /// Its durations make no election.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// A part of it ended that should not.
    #[error("a task of the operator failed")]
    BrokeDown(#[source] Option<JoinError>),
    /// It cannot tell about itself.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// Runs an operator until it is told to stop. Whenever it loses the lease, it waits for it anew.
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
    let (phase, told) = watch::channel(Phase::Waiting);
    let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
    if let Some(endpoint) = settings.endpoint.clone() {
        let operations =
            Operations { metrics: Arc::clone(&metrics), phase: told, stop: stop.clone() };
        let address = endpoint::start(endpoint, operations, &tasks, closing.clone()).await?;
        tracing::info!(%address, "serving metrics and probes");
    }
    let (own, own_content) = (Arc::new(own), Arc::new(own_content));
    let operator = Operator { client, settings, own, own_content, stop, metrics, phase };
    let ended = operator.lead().await;
    closing.cancel();
    tasks.close();
    if timeout(FAREWELL, tasks.wait()).await.is_err() {
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
}

impl Operator {
    /// Leads whenever it can.
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

    /// What the leader does, until it is told to stop or the operator of a new release takes over.
    /// Everything that is begun here ends when this does: watches end when nobody looks any more.
    async fn work(&self, leadership: Leadership) -> Result<(), OperatorError> {
        self.phase.send_replace(Phase::Starting);
        let sight = Sight::open(&self.client, &TaskTracker::new());
        let running = Running {
            version: self.own.release.version.clone(),
            image: self.own.release.image.clone(),
            created: self.own.created,
        };
        let superseded = CancellationToken::new();
        tokio::select! {
            () = self.stop.cancelled() => Ok(()),
            () = self.metrics.follow(sight.clone(), running) => Err(OperatorError::BrokeDown(None)),
            () = self.announce(sight.clone()) => Err(OperatorError::BrokeDown(None)),
            // The lease is released, so that the operator of the new release need not wait.
            () = superseded.cancelled() => Ok(()),
            broke_down = self.stages(sight, leadership, superseded.clone()) => Err(broke_down),
        }
    }

    /// The stages. Each is a task of its own: what one computes holds up no other. Data flows one
    /// way, from what is seen to what is written. None ends by itself.
    async fn stages(
        &self,
        sight: Sight,
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
            updates::Inputs::new(&sight, Arc::new(self.current())),
            self.settings.updates.clone(),
            self.metrics.updates(),
            updates_out,
        ));
        tasks.spawn(preflight::run(
            preflight::Inputs::new(&sight, &self.own, &self.own_content, updates.clone()),
            self.place(),
            self.settings.preflight.clone(),
            preflight::Hands { client: self.client.clone(), leadership: leadership.clone() },
            self.metrics.preflight(),
            preflight_out,
        ));
        tasks.spawn(risks::run(
            risks::Inputs {
                own: Arc::clone(&self.own),
                cluster_version: sight.cluster_version.clone(),
                cluster_operators: sight.cluster_operators.clone(),
                admin_gates: sight.admin_gates,
                admin_acks: sight.admin_acks,
                updates: updates.clone(),
                preflight: preflight.clone(),
                rollout: rollout.clone(),
                deleting: Vec::new(),
                remembered_alerts: None,
            },
            self.settings.risks.clone(),
            risks::Hands {
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
                cluster_version: sight.cluster_version.clone(),
                features: sight.features,
                proxy: sight.proxy.clone(),
                trusted_ca: sight.trusted_ca,
                risks: risks.clone(),
                preflight: preflight.clone(),
            },
            self.target_settings(),
            self.client.clone(),
            leadership.clone(),
            target_out,
        ));
        tasks.spawn(rollout::run(
            rollout::Inputs {
                own_image: self.own.release.image.clone(),
                target: target.clone(),
                cluster_version: sight.cluster_version.clone(),
                cluster_operators: sight.cluster_operators,
                surroundings: sight.surroundings,
            },
            rollout::Hands {
                applier: Applier::new(self.client.clone(), leadership.clone()),
                client: self.client.clone(),
                leadership: leadership.clone(),
            },
            rollout::Pace::default(),
            self.metrics.rollout(),
            superseded,
            rollout_out,
        ));
        tasks.spawn(status::run(
            status::Inputs {
                own: Arc::clone(&self.own),
                cluster_version: sight.cluster_version,
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
        OperatorError::BrokeDown(ended.and_then(Result::err))
    }

    /// Where a preflight has to be, and how it gets its release.
    fn place(&self) -> preflight::Place {
        preflight::Place {
            namespace: self.settings.election.lease.namespace.clone(),
            node: self.settings.node_name.clone(),
            layouts: self.settings.target.images.clone(),
            selection: self.settings.target.selection.clone(),
        }
    }

    /// From where updates are looked for.
    fn current(&self) -> Current {
        Current {
            version: self.own.release.version.clone(),
            architecture: self.own.architecture.clone(),
            image: self.own.release.image.clone(),
        }
    }

    fn target_settings(&self) -> target::Settings {
        let on_update = self.settings.preflight.on_update;
        target::Settings { releases: self.settings.target.clone(), on_update }
    }

    /// Says when all that counts was seen.
    async fn announce(&self, mut sight: Sight) {
        let seen = async {
            sight.cluster_version.wait_for(Option::is_some).await?;
            sight.cluster_operators.wait_for(Option::is_some).await?;
            Ok::<_, watch::error::RecvError>(())
        };
        if seen.await.is_ok() {
            self.phase.send_replace(Phase::Leading);
        }
        std::future::pending::<()>().await;
    }
}
