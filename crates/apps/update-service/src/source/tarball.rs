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

/// Bytes of a block: tarballs are made of such, and two empty ones are the end.
const BLOCK: usize = 512;

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
    #[error("{} has more than {MAX_UNPACKED} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} is truncated: the end of the archive is missing", path.display())]
    CutOff { path: PathBuf },
    #[error("{} has data after the end of the archive", path.display())]
    GoesOn { path: PathBuf },
    #[error("{name} in {} is not a file", path.display())]
    NotAFile { path: PathBuf, name: String },
    #[error("{name} occurs twice in {}", path.display())]
    Twice { path: PathBuf, name: String },
    #[error("{} has graph-data in two directories, such as {name} and {other}", path.display())]
    TwoPlaces { path: PathBuf, name: String, other: String },
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

/// Reads all of it. Whatever may hide a file makes it unusable: a block that is silently lost opens
/// what somebody closed.
fn read(path: &Path) -> Result<Files, TarballError> {
    let failed = |source| TarballError::Io { path: path.to_owned(), source };
    let mut archive = tar::Archive::new(unpacked(path).map_err(failed)?.take(MAX_UNPACKED));
    let mut gathered = Gathered { path, files: Files::default(), first: None };
    for (number, entry) in archive.entries().map_err(failed)?.enumerate() {
        if number == MAX_ENTRIES {
            return Err(TarballError::TooMany { path: path.to_owned() });
        }
        gathered.take(entry.map_err(failed)?)?;
    }
    ended(path, archive.into_inner())?;
    Ok(gathered.files)
}

/// The content of a tarball, compressed or not.
fn unpacked(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut start = Vec::new();
    let mut file = File::open(path)?;
    Read::by_ref(&mut file).take(2).read_to_end(&mut start)?;
    let is_gzip = start == GZIP;
    let whole = io::Cursor::new(start).chain(BufReader::new(file));
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

/// Makes sure that a tarball was read to its end. Two empty blocks are there, and `tar` stops behind
/// the first; it takes the end of a file for the end of a tarball as well.
fn ended(path: &Path, mut rest: io::Take<Box<dyn Read>>) -> Result<(), TarballError> {
    let path = || path.to_owned();
    let mut block = vec![0; BLOCK];
    let mut behind = 0;
    loop {
        let count = match rest.read(&mut block) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(source) => return Err(TarballError::Io { path: path(), source }),
        };
        if block[..count].iter().any(|byte| *byte != 0) {
            return Err(TarballError::GoesOn { path: path() });
        }
        behind += count;
        if count == 0 {
            break;
        }
    }
    match behind {
        _ if rest.limit() == 0 => Err(TarballError::TooLarge { path: path() }),
        0..BLOCK => Err(TarballError::CutOff { path: path() }),
        _ => Ok(()),
    }
}

/// The files of a tarball that mean something, as far as it was read.
struct Gathered<'a> {
    path: &'a Path,
    files: Files,
    /// The name of the first: the others are in the same place.
    first: Option<(String, String)>,
}

impl Gathered<'_> {
    fn take(&mut self, entry: tar::Entry<impl Read>) -> Result<(), TarballError> {
        let path = || self.path.to_owned();
        let failed = |source| TarballError::Io { path: path(), source };
        let name = entry.path().map_err(failed)?.to_string_lossy().into_owned();
        let kind = entry.header().entry_type();
        let Some(Place { above, inner, is_directory }) = Place::of(&name) else { return Ok(()) };
        if !kind.is_file() && !kind.is_dir() {
            return Err(TarballError::NotAFile { path: path(), name });
        }
        if kind.is_dir() || is_directory {
            return Ok(());
        }
        match &self.first {
            None => self.first = Some((above, name.clone())),
            Some((place, _)) if *place == above => {}
            Some((_, other)) => {
                return Err(TarballError::TwoPlaces { path: path(), name, other: other.clone() });
            }
        }
        if self.files.get(&inner).is_some() {
            return Err(TarballError::Twice { path: path(), name });
        }
        let mut bytes = Vec::new();
        entry.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        Ok(self.files.insert(inner, bytes)?)
    }
}

/// Where something is that means something in graph-data.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// The directory that graph-data is in: code hosts put everything into one.
    above: String,
    /// The path in graph-data.
    inner: String,
    /// Whether files that mean something are below.
    is_directory: bool,
}

impl Place {
    fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        (0..parts.len().min(2)).find_map(|depth| {
            let (above, inner) = (parts[..depth].join("/"), parts[depth..].join("/"));
            let is_directory = match parts[depth..] {
                [SCHEMA] | [CHANNELS | BLOCKED_EDGES, _] => false,
                [CHANNELS | BLOCKED_EDGES] => true,
                _ if inner == RAW_METADATA => false,
                [name] if RAW_METADATA.split_once('/').is_some_and(|(raw, _)| raw == name) => true,
                _ => return None,
            };
            Some(Self { above, inner, is_directory })
        })
    }
}

#[cfg(test)]
mod tests;
