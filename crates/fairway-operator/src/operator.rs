//! The operator as a whole: it tells about itself, waits for the lease, works, and ends.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cluster::Sight;
use crate::election::{self, Leadership, LostLease, TimingError};
use crate::endpoint::{self, EndpointError, Operations, Phase};
use crate::metrics::{Metrics, Running};
use crate::settings::Settings;

/// Connections that have not ended by then are cut.
const FAREWELL: Duration = Duration::from_secs(5);

/// Why an operator does not run.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// Its durations make no election.
    #[error(transparent)]
    Timing(#[from] TimingError),
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
    let metrics = Arc::new(Metrics::default());
    let (phase, told) = watch::channel(Phase::Waiting);
    let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
    if let Some(endpoint) = settings.endpoint.clone() {
        let operations =
            Operations { metrics: Arc::clone(&metrics), phase: told, stop: stop.clone() };
        let address = endpoint::start(endpoint, operations, &tasks, closing.clone()).await?;
        tracing::info!(%address, "metrics and probes are served");
    }
    let operator = Operator { client, settings, stop, metrics, phase };
    operator.lead().await;
    closing.cancel();
    tasks.close();
    if timeout(FAREWELL, tasks.wait()).await.is_err() {
        tracing::warn!("some clients did not read their answers in time");
    }
    Ok(())
}

struct Operator {
    client: Client,
    settings: Settings,
    stop: CancellationToken,
    metrics: Arc<Metrics>,
    phase: watch::Sender<Phase>,
}

impl Operator {
    /// Leads whenever it can.
    async fn lead(&self) {
        loop {
            let client = self.client.clone();
            let work = async |leadership| self.work(leadership).await;
            match election::lead(client, &self.settings.election, &self.stop, work).await {
                Ok(_) => return,
                Err(LostLease) => self.phase.send_replace(Phase::Waiting),
            };
        }
    }

    /// What the leader does, until it is told to stop. Everything that is begun here ends when
    /// this does: watches end when nobody looks any more.
    async fn work(&self, _leadership: Leadership) {
        self.phase.send_replace(Phase::Starting);
        let sight = Sight::open(&self.client, &TaskTracker::new());
        let running = Running { image: self.settings.release.image.clone(), ..Running::default() };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = self.metrics.follow(sight.clone(), running) => {}
            () = self.announce(sight) => {}
        }
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
