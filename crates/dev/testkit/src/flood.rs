//! A flood of idle connections.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{environment, wait};

/// Source of the connections: another host, as far as the server can tell.
const SOURCE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Idle connections from 127.0.0.2 to a server. A connection that the server closes is opened again.
/// Dropping the value closes them.
pub struct ConnectionFlood {
    opened: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl ConnectionFlood {
    /// Opens connections, and waits until all of them have been open once.
    pub async fn start(target: SocketAddr, count: usize) -> Result<Self> {
        let opened = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            tasks.spawn(hold(target, Arc::clone(&opened)));
        }
        let flood = Self { opened, _tasks: tasks };
        wait::until("the flood to begin", || async { Ok((flood.opened() >= count).then_some(())) })
            .await?;
        Ok(flood)
    }

    /// Number of connections that were opened.
    pub fn opened(&self) -> usize {
        // A counter on its own: it orders no other access.
        self.opened.load(Ordering::Relaxed)
    }

    /// Duration of a flood: some seconds, and three minutes in a soak, twice the time after which
    /// kubelets restart a container.
    pub fn duration() -> Duration {
        let is_soak = std::env::var_os(environment::SOAK_ROUNDS).is_some();
        if is_soak { Duration::from_mins(3) } else { Duration::from_secs(4) }
    }

    /// Repeats a request until the flood has lasted [`duration`](Self::duration).
    pub async fn withstand<F>(&self, mut request: impl FnMut() -> F) -> Result<()>
    where
        F: Future<Output = Result<()>>,
    {
        let end = Instant::now() + Self::duration();
        while Instant::now() < end {
            request().await?;
            wait::retry_delay().await;
        }
        Ok(())
    }
}

/// Holds a connection that sends nothing, for ever.
async fn hold(target: SocketAddr, opened: Arc<AtomicUsize>) {
    loop {
        if let Ok(mut stream) = connect(target).await {
            opened.fetch_add(1, Ordering::Relaxed);
            // It ends when the server closes the connection.
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
        wait::retry_delay().await;
    }
}

async fn connect(target: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((SOURCE, 0).into())?;
    socket.connect(target).await
}
