//! Content of registries and layouts as a stream, verified against its digest.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use reqwest::Response;
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::task::{self, JoinError};

use super::download::Download;
use super::{PullError, error};
use crate::Digest;
use crate::manifest::Descriptor;

/// Bytes that are read from a file at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Chunks in the channel, at most 64 KiB each.
const CHANNEL_CAPACITY: usize = 4;

/// A stream of content from a registry or a file.
pub(crate) enum Body {
    Response(Response),
    File(File),
}

impl Body {
    /// The next chunk; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, PullError> {
        match self {
            Self::Response(response) => match response.chunk().await {
                Ok(chunk) => Ok(chunk),
                Err(error) => Err(PullError::network(response.url(), &error)),
            },
            Self::File(file) => {
                let mut chunk = vec![0; CHUNK_BYTES];
                let read = file.read(&mut chunk).await;
                let count = read.map_err(|error| PullError::File { why: error.to_string() })?;
                chunk.truncate(count);
                Ok((count > 0).then(|| chunk.into()))
            }
        }
    }

    /// Reads all content up to a limit.
    pub(crate) async fn read(mut self, limit: u64) -> Result<Vec<u8>, PullError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Err(PullError::TooLarge { what: self.what(), limit });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// Reads all content up to a limit and verifies its digest.
    pub(crate) async fn read_checked(
        self,
        digest: &Digest,
        limit: u64,
    ) -> Result<Vec<u8>, PullError> {
        let bytes = self.read(limit).await?;
        if Digest::of(&bytes) != *digest {
            return Err(PullError::WrongDigest { digest: digest.clone() });
        }
        Ok(bytes)
    }

    fn what(&self) -> String {
        match self {
            Self::Response(response) => error::display_url(response.url()),
            Self::File(_) => "a file of the layout".to_owned(),
        }
    }
}

/// Verifies size and digest of content that is streamed.
pub(crate) struct DigestCheck<'a> {
    digest: &'a Digest,
    left: u64,
    hasher: Sha256,
}

impl<'a> DigestCheck<'a> {
    pub(crate) fn new(digest: &'a Digest, size: u64) -> Self {
        Self { digest, left: size, hasher: Sha256::new() }
    }

    /// Adds a chunk; fails if there is more content than announced.
    pub(crate) fn update(&mut self, chunk: &[u8]) -> Result<(), PullError> {
        self.left = self.left.checked_sub(chunk.len() as u64).ok_or_else(|| self.wrong())?;
        self.hasher.update(chunk);
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), PullError> {
        let complete = self.left == 0;
        let wrong = self.wrong();
        let right = complete && Digest::finish(self.hasher) == *self.digest;
        if right { Ok(()) } else { Err(wrong) }
    }

    fn wrong(&self) -> PullError {
        PullError::WrongDigest { digest: self.digest.clone() }
    }
}

/// A layer that is being read.
pub(crate) enum LayerBody<'a> {
    /// From a registry.
    Download(Download<'a>),
    /// From a file.
    File(Body),
}

impl LayerBody<'_> {
    async fn chunk(&mut self) -> Result<Option<Bytes>, PullError> {
        match self {
            Self::Download(download) => download.chunk().await,
            Self::File(file) => file.chunk().await,
        }
    }
}

/// Runs a blocking reader on the content of a layer. The result is returned only after the digest
/// of the complete layer is verified, even if the reader stops early.
pub(crate) async fn stream_verified<T: Send + 'static>(
    mut layer: LayerBody<'_>,
    descriptor: &Descriptor,
    read: impl FnOnce(ChunkReader) -> T + Send + 'static,
) -> Result<Result<T, JoinError>, PullError> {
    let (sender, chunks) = mpsc::channel(CHANNEL_CAPACITY);
    let reading = task::spawn_blocking(move || read(ChunkReader { chunks, rest: Bytes::new() }));
    let mut check = DigestCheck::new(&descriptor.digest, descriptor.size);
    while let Some(chunk) = layer.chunk().await? {
        check.update(&chunk)?;
        // The send fails once the reader has finished and dropped the receiver. The rest is still
        // hashed.
        let _ = sender.send(chunk).await;
    }
    drop(sender);
    check.finish()?;
    Ok(reading.await)
}

/// The receiving side of the channel as `Read`.
pub(crate) struct ChunkReader {
    chunks: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

impl Read for ChunkReader {
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
