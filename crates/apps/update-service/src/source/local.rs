//! Graph-data from a local directory, releases from a local JSON file.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_graph::releases::{self, MAX_BYTES};
use fairway_graph::{Files, ReleaseImage};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use sha2::{Digest as _, Sha256};

use super::{SETTLE_PERIOD, Source, SourceContent, SourceError};

/// A graph-data directory. Its content is used once two reads are equal.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    debounce: Debounce,
}

impl Directory {
    /// The directory at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), debounce: Debounce::new(SETTLE_PERIOD) }
    }

    /// Sets the time between two reads.
    pub fn settle(self, pause: Duration) -> Self {
        Self { debounce: Debounce::new(pause), ..self }
    }
}

impl Source<Files> for Directory {
    fn name(&self) -> String {
        format!("graph-data directory {}", self.path.display())
    }

    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<SourceContent<Files>>, SourceError>> {
        let path = self.path.clone();
        let read = move || fairway_graph_files::read(&path).map_err(SourceError::from);
        async move {
            let found = self.debounce.read(read, fingerprint_files).await?;
            Ok(found.map(|content| SourceContent { content, problems: Vec::new() }))
        }
        .boxed()
    }
}

/// A JSON list of releases with image, architecture and metadata.
#[derive(Debug)]
pub struct ReleasesFile {
    path: PathBuf,
    debounce: Debounce,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
struct Unreadable {
    path: PathBuf,
    source: std::io::Error,
}

impl ReleasesFile {
    /// The file at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), debounce: Debounce::new(SETTLE_PERIOD) }
    }

    /// Sets the time between two reads.
    pub fn settle(self, pause: Duration) -> Self {
        Self { debounce: Debounce::new(pause), ..self }
    }
}

impl Source<Vec<ReleaseImage>> for ReleasesFile {
    fn name(&self) -> String {
        format!("releases in {}", self.path.display())
    }

    fn refresh(
        &mut self,
    ) -> BoxFuture<'_, Result<Option<SourceContent<Vec<ReleaseImage>>>, SourceError>> {
        let path = self.path.clone();
        let name = path.display().to_string();
        async move {
            let read = move || read(&path).map_err(SourceError::from);
            let Some(bytes) = self.debounce.read(read, |bytes| fingerprint_bytes(bytes)).await?
            else {
                return Ok(None);
            };
            let parse = move || releases::read(&name, &bytes);
            match tokio::task::spawn_blocking(parse).await? {
                Ok((content, problems)) => Ok(Some(SourceContent { content, problems })),
                Err(error) => {
                    self.debounce.reject();
                    Err(error.into())
                }
            }
        }
        .boxed()
    }
}

/// Reads a file up to one byte beyond the limit: parsing reports the excess.
fn read(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let failed = |source| Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Maximum number of reads while content keeps changing; then the poll fails until the next one.
const MAX_READS: usize = 10;

/// A digest of content.
pub(super) type Fingerprint = [u8; 32];

/// Debounces changes: accepts content once two reads are equal.
#[derive(Debug)]
pub(super) struct Debounce {
    pause: Duration,
    accepted: Option<Fingerprint>,
}

#[derive(Debug, thiserror::Error)]
#[error("content keeps changing: {MAX_READS} reads, {pause:?} apart, all differ")]
struct UnstableContent {
    pause: Duration,
}

impl Debounce {
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, accepted: None }
    }

    /// The content, once two reads are equal; `None` if it is the accepted content.
    pub(super) async fn read<T: Send + 'static>(
        &mut self,
        read: impl Fn() -> Result<T, SourceError> + Clone + Send + 'static,
        fingerprint: impl Fn(&T) -> Fingerprint,
    ) -> Result<Option<T>, SourceError> {
        let mut before = None;
        for _ in 0..MAX_READS {
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
        Err(UnstableContent { pause: self.pause }.into())
    }

    /// Discards the accepted content, which turned out to be invalid: the next poll reads it again.
    pub(super) fn reject(&mut self) {
        self.accepted = None;
    }
}

pub(super) fn fingerprint_bytes(bytes: &[u8]) -> Fingerprint {
    Sha256::digest(bytes).into()
}

pub(super) fn fingerprint_files(files: &Files) -> Fingerprint {
    let mut digest = Sha256::new();
    for (path, bytes) in files.iter() {
        digest.update(fingerprint_bytes(path.as_bytes()));
        digest.update(fingerprint_bytes(bytes));
    }
    digest.finalize().into()
}
