//! A TCP proxy that closes connections early: [`FaultyProxy`].

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A TCP proxy that closes connections after a number of bytes. Dropping it closes the listener.
#[derive(Debug)]
pub struct FaultyProxy {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    connections: AtomicUsize,
    /// Limits of the next connections, in bytes of the server. Each connection takes one.
    limits: Mutex<Vec<usize>>,
    /// Limit of all other connections.
    default_limit: usize,
}

impl FaultyProxy {
    /// A proxy without faults until [`fail_next_after`](Self::fail_next_after).
    pub async fn start(server: &str) -> Result<Self> {
        Self::failing_after(server, usize::MAX).await
    }

    /// A proxy that closes every connection after this many bytes of the server.
    pub async fn failing_after(server: &str, bytes: usize) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (connections, limits) = (AtomicUsize::new(0), Mutex::default());
        let state = Arc::new(State { connections, limits, default_limit: bytes });
        let (next, server) = (Arc::clone(&state), server.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(forward(stream, server.clone(), next.next_limit()));
            }
        });
        Ok(Self { address, state, task })
    }

    /// The address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// Closes one of the next connections after this many bytes of the server.
    pub fn fail_next_after(&self, bytes: usize) {
        self.state.limits.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

impl State {
    /// Counts a connection and returns its limit.
    fn next_limit(&self) -> usize {
        // Relaxed: the count is only read after the connections have ended.
        self.connections.fetch_add(1, Ordering::Relaxed);
        let limit = self.limits.lock().unwrap_or_else(PoisonError::into_inner).pop();
        limit.unwrap_or(self.default_limit)
    }
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(stream: TcpStream, server: String, limit: usize) -> std::io::Result<()> {
    let (mut from_client, mut to_client) = stream.into_split();
    let (from_server, mut to_server) = TcpStream::connect(server).await?.into_split();
    let mut from_server = from_server.take(limit as u64);
    // The first direction that ends closes both: that is the fault.
    tokio::select! {
        copied = copy(&mut from_server, &mut to_client) => copied?,
        copied = copy(&mut from_client, &mut to_server) => copied?,
    };
    to_client.shutdown().await
}

/// Former names, for tests that have not moved yet.
impl FaultyProxy {}
