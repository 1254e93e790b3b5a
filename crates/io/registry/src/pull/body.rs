//! Content while it arrives.

use bytes::Bytes;
use reqwest::Response;
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::{PullError, error};
use crate::Digest;

/// What is read of a file at once.
const CHUNK: usize = 64 << 10;

/// Content from a registry or from a file.
pub(crate) enum Body {
    Response(Response),
    File(File),
}

impl Body {
    /// The next piece; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, PullError> {
        match self {
            Self::Response(response) => match response.chunk().await {
                Ok(chunk) => Ok(chunk),
                Err(error) => Err(PullError::network(response.url(), &error)),
            },
            Self::File(file) => {
                let mut chunk = vec![0; CHUNK];
                let read = file.read(&mut chunk).await;
                let count = read.map_err(|error| PullError::File { why: error.to_string() })?;
                chunk.truncate(count);
                Ok((count > 0).then(|| chunk.into()))
            }
        }
    }

    /// Everything, if it is not too much.
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

    /// Everything, if it is what its name says.
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
            Self::Response(response) => error::place(response.url()),
            Self::File(_) => "a file of the layout".to_owned(),
        }
    }
}

/// Compares content with its name while it passes by.
pub(crate) struct Check<'a> {
    digest: &'a Digest,
    left: u64,
    hasher: Sha256,
}

impl<'a> Check<'a> {
    pub(crate) fn new(digest: &'a Digest, size: u64) -> Self {
        Self { digest, left: size, hasher: Sha256::new() }
    }

    /// Takes the next piece; there must not be more than was announced.
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
