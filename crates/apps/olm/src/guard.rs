//! Start and shutdown of the guard: endpoint, leader election, and the tasks of the leader.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fairway_election::{self as election, Leadership, TimingError};
use fairway_http::Listener;
use fairway_metrics::MetricsHandler;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::catalogs;
use crate::certificate::{self, CertificateMaintainer, CertificateServer, Current};
use crate::endpoint::{Endpoint, Probes};
use crate::metrics::Metrics;
use crate::needs;
use crate::observed;
use crate::report::{self, Reporter, Sources};
use crate::settings::Settings;
use crate::watches::{GuardWatches, LeaderWatches};

/// Time for open connections to end during shutdown; the guard then closes them.
const CONNECTION_GRACE_PERIOD: Duration = Duration::from_secs(5);

/// Errors that end the guard.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The durations of leader election contradict each other.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// A task ended that runs as long as the guard.
    #[error("a task of the guard ended unexpectedly")]
    TaskEnded,
}

/// Runs the guard until `stop` is cancelled. Every replica serves the webhook; the leader writes.
///
/// After `stop`, the guard is not ready, releases the Lease, and serves until the end of the shutdown
/// grace period, because API servers may still have its address.
pub async fn run(
    client: Client,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), GuardError> {
    let address = settings.listen;
    serve(Webhook::Address(address), client, settings, stop).await
}

/// Where the webhook listens.
enum Webhook {
    /// An address, which the guard binds. It retries while another process uses the address.
    Address(SocketAddr),
    /// A bound socket.
    Socket(TcpListener),
}

/// Runs the guard on a bound socket.
pub async fn run_on(
    socket: TcpListener,
    client: Client,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), GuardError> {
    serve(Webhook::Socket(socket), client, settings, stop).await
}

async fn serve(
    webhook: Webhook,
    client: Client,
    settings: Settings,
    stop: CancellationToken,
) -> Result<(), GuardError> {
    settings.election.timing.check()?;
    let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
    let metrics = Arc::new(Metrics::default());
    let watches = GuardWatches::open(&client, &settings, &TaskTracker::new());
    let (current, mut served) = watch::channel(None);
    let endpoint = Endpoint {
        client: client.clone(),
        cluster_version: watches.cluster_version.clone(),
        metrics: Arc::clone(&metrics),
        scrapes: Arc::new(scrapes(&settings, &client, &metrics)),
        limits: Arc::default(),
    };
    let (bound, webhook_address) = watch::channel(None);
    if let Some(address) = settings.probes {
        let probes = Probes {
            cluster_version: watches.cluster_version.clone(),
            certificate: served.clone(),
            webhook: webhook_address,
            stop: stop.clone(),
        };
        probe_listener(probes, &tasks, &closing).start(address);
    }
    let listener = listener(endpoint, served.clone(), &tasks, &closing);
    let mut serving = tasks.spawn(certificate::serve(CertificateServer {
        client: client.clone(),
        namespace: settings.namespace.clone(),
        identity: settings.election.identity.clone(),
        secret: watches.secret.clone(),
        tls_profile: watches.tls_profile.clone(),
        current,
        metrics: Arc::clone(&metrics),
        closing: closing.clone(),
    }));
    tasks.spawn(closing.clone().run_until_cancelled_owned(async move {
        // Never plain text: connections wait for the first certificate.
        if served.wait_for(Option::is_some).await.is_err() {
            return;
        }
        match webhook {
            Webhook::Socket(socket) => {
                bound.send_replace(socket.local_addr().ok());
                listener.run(socket).await;
            }
            Webhook::Address(address) => {
                let mut address = listener.start(address);
                while address.changed().await.is_ok() {
                    bound.send_replace(*address.borrow_and_update());
                }
            }
        }
    }));
    let shutdown_grace_period = settings.shutdown_grace_period;
    let last_answer = async {
        stop.cancelled().await;
        fairway_clock::pause(shutdown_grace_period).await;
        Ok(())
    };
    let guard = Guard { client, settings, watches, metrics };
    let ended = tokio::select! {
        ended = async { tokio::try_join!(guard.lead(&stop), last_answer) } => ended.map(drop),
        _ = &mut serving => Err(GuardError::TaskEnded),
    };
    closing.cancel();
    tasks.close();
    if timeout(CONNECTION_GRACE_PERIOD, tasks.wait()).await.is_err() {
        tracing::warn!("closing connections after shutdown grace period");
    }
    ended
}

fn scrapes(settings: &Settings, client: &Client, metrics: &Arc<Metrics>) -> MetricsHandler {
    let metrics = Arc::clone(metrics);
    MetricsHandler::new(settings.metrics_auth, client.clone(), move || metrics.text())
}

/// A listener for probes, without TLS.
fn probe_listener(probes: Probes, tasks: &TaskTracker, closing: &CancellationToken) -> Listener {
    Listener {
        secured: Arc::new(|| None),
        answer: Arc::new(move |request| Box::pin(std::future::ready(probes.answer(&request)))),
        tasks: tasks.clone(),
        closing: closing.clone(),
    }
}

/// A listener with the current certificate.
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
    watches: GuardWatches,
    metrics: Arc<Metrics>,
}

impl Guard {
    /// Runs the tasks of the leader whenever this replica holds the Lease.
    async fn lead(&self, stop: &CancellationToken) -> Result<(), GuardError> {
        loop {
            let work = async |leadership| {
                tokio::select! {
                    () = stop.cancelled() => Ok(()),
                    () = self.work(leadership) => Err(GuardError::TaskEnded),
                }
            };
            let election = &self.settings.election;
            let led = election::lead(self.client.clone(), election, stop, work).await;
            self.metrics.clear_leader_metrics();
            // After a lost Lease, the guard waits for it again.
            if let Ok(worked) = led {
                return worked.unwrap_or(Ok(()));
            }
        }
    }

    /// Runs the tasks of the leader. None ends by itself.
    async fn work(&self, leadership: Leadership) {
        let (client, settings) = (&self.client, &self.settings);
        let watches = LeaderWatches::open(client, settings, &TaskTracker::new());
        let (problem, problems) = watch::channel(None);
        let mut tasks = JoinSet::new();
        tasks.spawn(certificate::maintain(CertificateMaintainer {
            client: client.clone(),
            leadership: leadership.clone(),
            settings: settings.clone(),
            secret: self.watches.secret.clone(),
            configuration: watches.configuration.clone(),
            stale: [self.watches.stale.clone(), watches.stale.clone()],
            problem,
            metrics: Arc::clone(&self.metrics),
            known: None,
        }));
        let (out, catalogs) = watch::channel(None);
        let (subscribed, sources) = (watches.subscriptions.clone(), watches.catalogs.clone());
        tasks.spawn(catalogs::follow(client.clone(), subscribed, sources, out));
        let (learned, needs) = watch::channel(None);
        tasks.spawn(needs::follow(client.clone(), watches.operators.clone(), learned));
        let (out, observed) = watch::channel(None);
        let version = self.watches.cluster_version.clone();
        tasks.spawn(observed::follow(client.clone(), version, out));
        let sources = Sources {
            cluster_version: self.watches.cluster_version.clone(),
            stale: self.watches.stale.clone(),
            watches,
            catalogs,
            needs,
            observed,
            problem: problems,
        };
        let metrics = Arc::clone(&self.metrics);
        let reporter =
            Reporter::new(client.clone(), leadership, settings.clone(), sources, metrics);
        tasks.spawn(report::report(reporter));
        tasks.join_next().await;
    }
}
