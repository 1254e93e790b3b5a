//! Waiting until somebody has finished writing.

use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::SourceError;

/// So often content may change while it is looked at; then whoever writes it is left alone until
/// the next time.
const LOOKS: usize = 10;

/// A digest of content.
pub(super) type Fingerprint = [u8; 32];

/// Content that counts once it stays the same.
#[derive(Debug)]
pub(super) struct Settled {
    pause: Duration,
    accepted: Option<Fingerprint>,
}

#[derive(Debug, thiserror::Error)]
#[error("content keeps changing: {LOOKS} reads, {pause:?} apart, all differ")]
struct Restless {
    pause: Duration,
}

impl Settled {
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, accepted: None }
    }

    /// The content, once two looks are equal; `None` if it is what was accepted before.
    pub(super) async fn look<T: Send + 'static>(
        &mut self,
        read: impl Fn() -> Result<T, SourceError> + Clone + Send + 'static,
        fingerprint: impl Fn(&T) -> Fingerprint,
    ) -> Result<Option<T>, SourceError> {
        let mut before = None;
        for _ in 0..LOOKS {
            let content = tokio::task::spawn_blocking(read.clone()).await??;
            let now = fingerprint(&content);
            if self.accepted == Some(now) {
                return Ok(None);
            }
            if before == Some(now) {
                self.accepted = Some(now);
                return Ok(Some(content));
            }
            before = Some(now);
            drop(content);
            fairway_clock::pause(self.pause).await;
        }
        Err(Restless { pause: self.pause }.into())
    }

    /// What was accepted turned out to be unusable: it is looked at again.
    pub(super) fn reject(&mut self) {
        self.accepted = None;
    }
}

pub(super) fn of_bytes(bytes: &[u8]) -> Fingerprint {
    Sha256::digest(bytes).into()
}

pub(super) fn of_files(files: &fairway_graph::Files) -> Fingerprint {
    let mut digest = Sha256::new();
    for (path, bytes) in files.iter() {
        digest.update(of_bytes(path.as_bytes()));
        digest.update(of_bytes(bytes));
    }
    digest.finalize().into()
}
