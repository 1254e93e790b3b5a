//! What a Service does: connections go to those who were ready a moment ago.

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

/// How long it takes until everybody has heard that somebody is not ready.
const DELAY: Duration = Duration::from_secs(1);

/// How often somebody is asked whether it is ready.
const PERIOD: Duration = Duration::from_millis(200);

/// Where a guard is, and since when it is not ready, if that is so.
#[derive(Clone, Copy)]
struct Guard {
    address: SocketAddr,
    left: Option<Instant>,
}

impl Guard {
    fn is_asked(&self, now: Instant) -> bool {
        self.left.is_none_or(|left| now < left + DELAY)
    }
}

type Guards = Arc<Mutex<Vec<Guard>>>;

/// A way to several guards.
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
        // As the probes of a kubelet do, it trusts everybody.
        let prober = http_client().tls_danger_accept_invalid_certs(true).build()?;
        Ok(Self { address, guards, prober, tasks })
    }

    /// Leads connections to one more guard as soon as it is ready.
    pub(crate) async fn add(&mut self, address: SocketAddr) -> Result<()> {
        let prober = self.prober.clone();
        wait::until("a guard to be ready", || async {
            Ok(is_ready(&prober, address).await.then_some(()))
        })
        .await?;
        lock(&self.guards).push(Guard { address, left: None });
        self.tasks.spawn(probe(address, prober, Arc::clone(&self.guards)));
        Ok(())
    }
}

async fn is_ready(client: &reqwest::Client, address: SocketAddr) -> bool {
    let answer = client.get(format!("https://{address}/readyz")).send().await;
    answer.is_ok_and(|answer| answer.status().is_success())
}

/// Asks until a guard is not ready, which it never is again.
async fn probe(address: SocketAddr, client: reqwest::Client, guards: Guards) {
    let mut period = interval(PERIOD);
    while is_ready(&client, address).await {
        period.tick().await;
    }
    let now = Instant::now();
    for guard in lock(&guards).iter_mut().filter(|guard| guard.address == address) {
        guard.left = Some(now);
    }
}

async fn balance(socket: TcpListener, guards: Guards) {
    for turn in 0_usize.. {
        let Ok((mut client, _)) = socket.accept().await else { return };
        let now = Instant::now();
        let asked: Vec<Guard> =
            lock(&guards).iter().filter(|guard| guard.is_asked(now)).copied().collect();
        let Some(guard) = asked.get(turn % asked.len().max(1)).copied() else { continue };
        tokio::spawn(async move {
            // Whoever is not there refuses the connection, and it ends.
            if let Ok(mut server) = TcpStream::connect(guard.address).await {
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}

fn lock(guards: &Guards) -> std::sync::MutexGuard<'_, Vec<Guard>> {
    guards.lock().unwrap_or_else(PoisonError::into_inner)
}
