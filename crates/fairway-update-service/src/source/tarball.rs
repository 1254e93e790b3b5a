//! Graph-data from a tarball, as code hosts make them of a repository.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_graph::Files;
use fairway_graph::data::{BLOCKED_EDGES, CHANNELS, RAW_METADATA, SCHEMA};
use fairway_graph::files::{FilesError, MAX_BYTES, MAX_FILE_BYTES};
use flate2::read::MultiGzDecoder;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::settled::{Settled, of_files};
use super::{Found, SETTLE, Source, SourceError};

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes of an unpacked tarball: all files that are read, and the rest of a repository.
const MAX_UNPACKED: u64 = 4 * MAX_BYTES as u64;

/// Entries in a tarball: graph-data, and the rest of a repository.
const MAX_ENTRIES: usize = 100_000;

/// A tarball of graph-data, compressed or not.
#[derive(Debug)]
pub struct Tarball {
    path: PathBuf,
    settled: Settled,
}

#[derive(Debug, thiserror::Error)]
enum TarballError {
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} has more than {MAX_ENTRIES} entries", path.display())]
    TooMany { path: PathBuf },
    #[error(transparent)]
    Limit(#[from] FilesError),
}

impl Tarball {
    /// The tarball at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), settled: Settled::new(SETTLE) }
    }

    /// With another time between two looks.
    pub fn settle(self, pause: Duration) -> Self {
        Self { settled: Settled::new(pause), ..self }
    }
}

impl Source<Files> for Tarball {
    fn name(&self) -> String {
        format!("graph-data tarball {}", self.path.display())
    }

    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<Found<Files>>, SourceError>> {
        let path = self.path.clone();
        let read = move || read(&path).map_err(SourceError::from);
        async move {
            let found = self.settled.look(read, of_files).await?;
            Ok(found.map(|content| Found { content, problems: Vec::new() }))
        }
        .boxed()
    }
}

fn read(path: &Path) -> Result<Files, TarballError> {
    let failed = |source| TarballError::Io { path: path.to_owned(), source };
    let mut start = Vec::new();
    let mut file = File::open(path).map_err(failed)?;
    Read::by_ref(&mut file).take(2).read_to_end(&mut start).map_err(failed)?;
    let whole = io::Cursor::new(start.clone()).chain(BufReader::new(file));
    let unpacked: Box<dyn Read> =
        if start == GZIP { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
    let mut archive = tar::Archive::new(unpacked.take(MAX_UNPACKED));
    let mut files = Files::default();
    for (number, entry) in archive.entries().map_err(failed)?.enumerate() {
        if number == MAX_ENTRIES {
            return Err(TarballError::TooMany { path: path.to_owned() });
        }
        let entry = entry.map_err(failed)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path().map_err(failed)?.to_string_lossy().into_owned();
        let Some(name) = meaningful(&name) else { continue };
        let mut bytes = Vec::new();
        entry.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        files.insert(name, bytes)?;
    }
    Ok(files)
}

/// The path below the directory of graph-data, if it is of a file that means something there. Code
/// hosts put everything into one more directory.
fn meaningful(path: &str) -> Option<&str> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let inner = path.split_once('/').map_or("", |(_, inner)| inner);
    [path, inner].into_iter().find(|path| match path.split_once('/') {
        None => *path == SCHEMA,
        Some((CHANNELS | BLOCKED_EDGES, file)) => !file.contains('/'),
        Some(_) => *path == RAW_METADATA,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_mean_something_are_found_at_both_depths() {
        for (path, expected) in [
            ("version", Some("version")),
            ("./version", Some("version")),
            ("graph-data-1a2b/version", Some("version")),
            ("graph-data-1a2b/channels/stable-5.1.yaml", Some("channels/stable-5.1.yaml")),
            ("blocked-edges/5.1.0-Risk.yaml", Some("blocked-edges/5.1.0-Risk.yaml")),
            ("raw/metadata.json", Some("raw/metadata.json")),
            ("blocked-edges/deeper/x.yaml", None),
            ("README.md", None),
            ("a/b/version", None),
        ] {
            assert_eq!(meaningful(path), expected, "{path}");
        }
    }
}
