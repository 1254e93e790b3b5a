//! A bad line to a server: connections are cut after so many bytes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Passes on what is said, until this value goes.
#[derive(Debug)]
pub struct Line {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    connections: AtomicUsize,
    /// After how many bytes the next connections end.
    cuts: Mutex<Vec<usize>>,
    /// After how many bytes all others do.
    after: usize,
}

impl Line {
    /// A line that is good until it is told otherwise.
    pub async fn to(server: &str) -> Result<Self> {
        Self::cutting_after(server, usize::MAX).await
    }

    /// A line that ends every connection when the server has said so many bytes.
    pub async fn cutting_after(server: &str, bytes: usize) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (connections, cuts) = (AtomicUsize::new(0), Mutex::default());
        let state = Arc::new(State { connections, cuts, after: bytes });
        let (next, server) = (Arc::clone(&state), server.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass_on(stream, server.clone(), next.connected()));
            }
        });
        Ok(Self { address, state, task })
    }

    /// Where it begins.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// One of the next connections ends when the server has said so many bytes.
    pub fn cut_after(&self, bytes: usize) {
        self.state.cuts.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

impl State {
    /// Counts a connection; after how many bytes it ends.
    fn connected(&self) -> usize {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let cut = self.cuts.lock().unwrap_or_else(PoisonError::into_inner).pop();
        cut.unwrap_or(self.after)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(stream: TcpStream, server: String, after: usize) -> std::io::Result<()> {
    let (mut questions, mut answers) = stream.into_split();
    let (server, mut asked) = TcpStream::connect(server).await?.into_split();
    let mut server = server.take(after as u64);
    tokio::select! {
        passed = copy(&mut server, &mut answers) => passed?,
        passed = copy(&mut questions, &mut asked) => passed?,
    };
    answers.shutdown().await
}
