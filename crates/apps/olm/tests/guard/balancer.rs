//! A load balancer with the delay of a Service: it uses guards that were ready a moment ago.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use fairway_testkit::wait;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};

use crate::support::http_client;

/// Delay until a guard that is not ready gets no connections.
const DELAY: Duration = Duration::from_secs(1);

/// Interval of readiness probes.
const PERIOD: Duration = Duration::from_millis(200);

/// Address of a guard, and the time at which it became unready.
#[derive(Clone, Copy)]
struct Guard {
    address: SocketAddr,
    /// Address of its probes.
    probes: SocketAddr,
    left: Option<Instant>,
}

impl Guard {
    fn is_used(&self, now: Instant) -> bool {
        self.left.is_none_or(|left| now < left + DELAY)
    }
}

type Guards = Arc<Mutex<Vec<Guard>>>;

/// Load balancer of several guards.
pub(crate) struct Balancer {
    pub(crate) address: SocketAddr,
    guards: Guards,
    prober: reqwest::Client,
    tasks: JoinSet<()>,
}

impl Balancer {
    pub(crate) async fn start() -> Result<Self> {
        let socket = TcpListener::bind("127.0.0.1:0").await?;
        let (address, guards) = (socket.local_addr()?, Guards::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(balance(socket, Arc::clone(&guards)));
        let prober = http_client().build()?;
        Ok(Self { address, guards, prober, tasks })
    }

    /// Adds a guard once it is ready.
    pub(crate) async fn add(&mut self, address: SocketAddr, readiness: SocketAddr) -> Result<()> {
        let prober = self.prober.clone();
        wait::until("a guard to be ready", || async {
            Ok(is_ready(&prober, readiness).await.then_some(()))
        })
        .await?;
        lock(&self.guards).push(Guard { address, probes: readiness, left: None });
        self.tasks.spawn(probe(readiness, prober, Arc::clone(&self.guards)));
        Ok(())
    }
}

async fn is_ready(client: &reqwest::Client, probes: SocketAddr) -> bool {
    let answer = client.get(format!("http://{probes}/readyz")).send().await;
    answer.is_ok_and(|answer| answer.status().is_success())
}

/// Probes a guard until it is not ready.
async fn probe(probes: SocketAddr, client: reqwest::Client, guards: Guards) {
    let mut period = interval(PERIOD);
    while is_ready(&client, probes).await {
        period.tick().await;
    }
    let now = Instant::now();
    for guard in lock(&guards).iter_mut().filter(|guard| guard.probes == probes) {
        guard.left = Some(now);
    }
}

async fn balance(socket: TcpListener, guards: Guards) {
    for turn in 0_usize.. {
        let Ok((mut client, _)) = socket.accept().await else { return };
        let now = Instant::now();
        let used: Vec<Guard> =
            lock(&guards).iter().filter(|guard| guard.is_used(now)).copied().collect();
        let Some(guard) = used.get(turn % used.len().max(1)).copied() else { continue };
        tokio::spawn(async move {
            // A guard that has ended refuses the connection.
            if let Ok(mut server) = TcpStream::connect(guard.address).await {
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}

fn lock(guards: &Guards) -> std::sync::MutexGuard<'_, Vec<Guard>> {
    guards.lock().unwrap_or_else(PoisonError::into_inner)
}
