//! A bad line to a registry: every connection is cut after so many bytes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Ends with this value.
pub(crate) struct Cut {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Cut {
    pub(crate) async fn start(registry: &str, after: usize) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let connections = Arc::new(AtomicUsize::new(0));
        let (counted, registry) = (Arc::clone(&connections), registry.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(pass_on(stream, registry.clone(), after));
            }
        });
        Ok(Self { address, connections, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Passes on what both say, until the registry has said enough.
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
