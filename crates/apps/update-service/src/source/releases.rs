//! Releases from a JSON file.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_graph::ReleaseImage;
use fairway_graph::releases::{self, MAX_BYTES};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::settled::{Settled, of_bytes};
use super::{Found, SETTLE, Source, SourceError};

/// A JSON list of releases, each with its image, its architecture and its metadata.
#[derive(Debug)]
pub struct ReleasesFile {
    path: PathBuf,
    settled: Settled,
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
        Self { path: path.into(), settled: Settled::new(SETTLE) }
    }

    /// With another time between two looks.
    pub fn settle(self, pause: Duration) -> Self {
        Self { settled: Settled::new(pause), ..self }
    }
}

impl Source<Vec<ReleaseImage>> for ReleasesFile {
    fn name(&self) -> String {
        format!("releases in {}", self.path.display())
    }

    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<Found<Vec<ReleaseImage>>>, SourceError>> {
        let path = self.path.clone();
        let name = path.display().to_string();
        async move {
            let read = move || read(&path).map_err(SourceError::from);
            let Some(bytes) = self.settled.look(read, |bytes| of_bytes(bytes)).await? else {
                return Ok(None);
            };
            let parse = move || releases::read(&name, &bytes);
            match tokio::task::spawn_blocking(parse).await? {
                Ok((content, problems)) => Ok(Some(Found { content, problems })),
                Err(error) => {
                    self.settled.reject();
                    Err(error.into())
                }
            }
        }
        .boxed()
    }
}

/// The content of a file, up to a byte more than is allowed: whoever parses it refuses that.
fn read(path: &Path) -> Result<Vec<u8>, Unreadable> {
    let failed = |source| Unreadable { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}
