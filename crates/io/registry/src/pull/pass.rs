//! Content that passes by a reader on another thread, while it is compared with its digest.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;
use tokio::task::{self, JoinError};

use super::download::Download;
use super::{Body, Check, PullError};
use crate::manifest::Descriptor;

/// Pieces that wait to be read, 64 KiB at most each.
const WAITING: usize = 4;

/// A layer on its way.
pub(crate) enum Arriving<'a> {
    /// From a registry.
    Download(Download<'a>),
    /// From a file.
    File(Body),
}

impl Arriving<'_> {
    async fn chunk(&mut self) -> Result<Option<Bytes>, PullError> {
        match self {
            Self::Download(download) => download.chunk().await,
            Self::File(file) => file.chunk().await,
        }
    }
}

/// What a reader makes of content. It counts for nothing before all of it was compared: this
/// returns only then, wherever the reader stopped.
pub(crate) async fn pass<T: Send + 'static>(
    mut layer: Arriving<'_>,
    descriptor: &Descriptor,
    read: impl FnOnce(Chunks) -> T + Send + 'static,
) -> Result<Result<T, JoinError>, PullError> {
    let (sender, chunks) = mpsc::channel(WAITING);
    let reading = task::spawn_blocking(move || read(Chunks { chunks, rest: Bytes::new() }));
    let mut check = Check::new(&descriptor.digest, descriptor.size);
    while let Some(chunk) = layer.chunk().await? {
        check.update(&chunk)?;
        // Nobody listens any longer once the reader has what it wants.
        let _ = sender.send(chunk).await;
    }
    drop(sender);
    check.finish()?;
    Ok(reading.await)
}

/// What arrives, for a reader on another thread.
pub(crate) struct Chunks {
    chunks: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.rest = chunk,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.rest.len());
        self.rest.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
