//! The guard as a whole: it listens, waits for its turn to write, and ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fairway_election::{self as election, Leadership, TimingError};
use fairway_http::Listener;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalogs;
use crate::certificate::{self, Current, Keeper, Serving};
use crate::endpoint::Endpoint;
use crate::metrics::Metrics;
use crate::needs;
use crate::observed;
use crate::report::{self, Reporter, Sources};
use crate::settings::Settings;
use crate::sight::{Sight, WriterSight};

/// Connections that have not ended by then, when nobody is answered any more, are cut.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Why a guard does not run.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// Its durations make no election.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// A part of it ended that should not.
    #[error("a task of the guard ended unexpectedly")]
    BrokeDown,
}

/// Runs a guard until it is told to stop. Every guard answers; the one with the lease writes.
///
/// Whoever is to stop says at once that it is not ready, lets another one write, and answers for
/// a while to those who have not heard of it.
pub async fn run(
    client: Client,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), GuardError> {
    let address = settings.listen;
    let failed = |source| GuardError::Listen { address, source };
    let socket = TcpListener::bind(address).await.map_err(failed)?;
    run_on(socket, client, settings, stop).await
}

/// The same, at an address that is had already.
pub async fn run_on(
    socket: TcpListener,
    client: Client,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), GuardError> {
    settings.election.timing.check()?;
    let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
    let metrics = Arc::new(Metrics::default());
    let sight = Sight::open(&client, &settings, &TaskTracker::new());
    let (current, mut served) = watch::channel(None);
    let endpoint = Endpoint {
        client: client.clone(),
        cluster_version: sight.cluster_version.clone(),
        metrics: Arc::clone(&metrics),
        stop: stop.clone(),
    };
    let listener = listener(endpoint, served.clone(), &tasks, &closing);
    let mut serving = tasks.spawn(certificate::serve(Serving {
        client: client.clone(),
        namespace: settings.namespace.clone(),
        identity: settings.election.identity.clone(),
        secret: sight.secret.clone(),
        current,
        metrics: Arc::clone(&metrics),
        closing: closing.clone(),
    }));
    tasks.spawn(closing.clone().run_until_cancelled_owned(async move {
        // Nothing is said in plain text: whoever comes before there is a certificate waits.
        if served.wait_for(Option::is_some).await.is_ok() {
            listener.run(socket).await;
        }
    }));
    let farewell = settings.farewell;
    let last_answer = async {
        stop.cancelled().await;
        fairway_clock::pause(farewell).await;
        Ok(())
    };
    let guard = Guard { client, settings, sight, metrics };
    let ended = tokio::select! {
        ended = async { tokio::try_join!(guard.lead(&stop), last_answer) } => ended.map(drop),
        _ = &mut serving => Err(GuardError::BrokeDown),
    };
    closing.cancel();
    tasks.close();
    if timeout(LAST_WORDS, tasks.wait()).await.is_err() {
        tracing::warn!("closing connections after shutdown grace period");
    }
    ended
}

/// Answers, with the certificate of the moment.
fn listener(
    endpoint: Endpoint,
    current: watch::Receiver<Current>,
    tasks: &TaskTracker,
    closing: &CancellationToken,
) -> Listener {
    Listener {
        secured: Arc::new(move || current.borrow().clone()),
        answer: Arc::new(move |request| Box::pin(endpoint.clone().answer(request))),
        tasks: tasks.clone(),
        closing: closing.clone(),
    }
}

struct Guard {
    client: Client,
    settings: Settings,
    sight: Sight,
    metrics: Arc<Metrics>,
}

impl Guard {
    /// Writes whenever it is its turn.
    async fn lead(&self, stop: &CancellationToken) -> Result<(), GuardError> {
        loop {
            let work = async |leadership| {
                tokio::select! {
                    () = stop.cancelled() => Ok(()),
                    () = self.work(leadership) => Err(GuardError::BrokeDown),
                }
            };
            let election = &self.settings.election;
            let led = election::lead(self.client.clone(), election, stop, work).await;
            self.metrics.writes_no_more();
            // Whoever has lost the Lease waits for it anew.
            if let Ok(worked) = led {
                return worked.unwrap_or(Ok(()));
            }
        }
    }

    /// What the one does that writes. None of it ends by itself.
    async fn work(&self, leadership: Leadership) {
        let (client, settings) = (&self.client, &self.settings);
        let sight = WriterSight::open(client, settings, &TaskTracker::new());
        let (trouble, troubled) = watch::channel(None);
        let mut tasks = JoinSet::new();
        tasks.spawn(certificate::keep(Keeper {
            client: client.clone(),
            leadership: leadership.clone(),
            settings: settings.clone(),
            secret: self.sight.secret.clone(),
            configuration: sight.configuration.clone(),
            blind: [self.sight.blind.clone(), sight.blind.clone()],
            trouble,
            metrics: Arc::clone(&self.metrics),
            known: None,
        }));
        let (told, catalogs) = watch::channel(None);
        let (subscribed, sources) = (sight.subscriptions.clone(), sight.catalogs.clone());
        tasks.spawn(catalogs::follow(client.clone(), subscribed, sources, told));
        let (learned, needs) = watch::channel(None);
        tasks.spawn(needs::follow(client.clone(), sight.operators.clone(), learned));
        let (told, observed) = watch::channel(None);
        let version = self.sight.cluster_version.clone();
        tasks.spawn(observed::follow(client.clone(), version, told));
        let sources = Sources {
            cluster_version: self.sight.cluster_version.clone(),
            blind: self.sight.blind.clone(),
            sight,
            catalogs,
            needs,
            observed,
            trouble: troubled,
        };
        let metrics = Arc::clone(&self.metrics);
        let reporter =
            Reporter::new(client.clone(), leadership, settings.clone(), sources, metrics);
        tasks.spawn(report::report(reporter));
        tasks.join_next().await;
    }
}
