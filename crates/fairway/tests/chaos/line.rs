//! The line to a registry, which breaks when it is told to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Passes on what is said, until this value goes.
pub(crate) struct Line {
    address: SocketAddr,
    cuts: Arc<Mutex<Vec<usize>>>,
    task: JoinHandle<()>,
}

impl Line {
    pub(crate) async fn to(registry: String) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let cuts = Arc::new(Mutex::new(Vec::new()));
        let next = Arc::clone(&cuts);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let cut = next.lock().unwrap_or_else(PoisonError::into_inner).pop();
                tokio::spawn(pass_on(stream, registry.clone(), cut.unwrap_or(usize::MAX)));
            }
        });
        Ok(Self { address, cuts, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// One of the next connections ends when the registry has said so many bytes.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.cuts.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass_on(stream: TcpStream, registry: String, after: usize) -> std::io::Result<()> {
    let (mut questions, mut answers) = stream.into_split();
    let (registry, mut asked) = TcpStream::connect(registry).await?.into_split();
    let mut registry = registry.take(after as u64);
    tokio::select! {
        passed = copy(&mut registry, &mut answers) => passed?,
        passed = copy(&mut questions, &mut asked) => passed?,
    };
    answers.shutdown().await
}
