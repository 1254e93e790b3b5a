//! Graph-data from a tarball, such as code hosts create from a repository.

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

use super::local::{Debounce, fingerprint_files};
use super::{SETTLE_PERIOD, Source, SourceContent, SourceError};

/// Magic number of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes of an unpacked tarball: graph-data and the rest of a repository.
const MAX_UNPACKED: u64 = 4 * MAX_BYTES as u64;

/// Bytes of a tar block. Two empty blocks end an archive.
const BLOCK: usize = 512;

/// Entries of a tarball: graph-data and the rest of a repository.
const MAX_ENTRIES: usize = 100_000;

/// A tarball of graph-data, compressed or not.
#[derive(Debug)]
pub struct Tarball {
    path: PathBuf,
    debounce: Debounce,
}

#[derive(Debug, thiserror::Error)]
enum TarballError {
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} has more than {MAX_ENTRIES} entries", path.display())]
    TooMany { path: PathBuf },
    #[error("{} unpacks to more than {MAX_UNPACKED} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("{} is truncated: the end of the archive is missing", path.display())]
    Truncated { path: PathBuf },
    #[error("{} has data after the end of the archive", path.display())]
    TrailingData { path: PathBuf },
    #[error("{name} in {} is not a file", path.display())]
    NotAFile { path: PathBuf, name: String },
    #[error("{name} occurs twice in {}", path.display())]
    Duplicate { path: PathBuf, name: String },
    #[error("{} has graph-data in two directories, such as {name} and {other}", path.display())]
    TwoDirectories { path: PathBuf, name: String, other: String },
    #[error(transparent)]
    Limit(#[from] FilesError),
}

impl Tarball {
    /// The tarball at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), debounce: Debounce::new(SETTLE_PERIOD) }
    }

    /// Sets the time between two reads.
    pub fn settle(self, pause: Duration) -> Self {
        Self { debounce: Debounce::new(pause), ..self }
    }
}

impl Source<Files> for Tarball {
    fn name(&self) -> String {
        format!("graph-data tarball {}", self.path.display())
    }

    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<SourceContent<Files>>, SourceError>> {
        let path = self.path.clone();
        let read = move || read(&path).map_err(SourceError::from);
        async move {
            let found = self.debounce.read(read, fingerprint_files).await?;
            Ok(found.map(|content| SourceContent { content, problems: Vec::new() }))
        }
        .boxed()
    }
}

/// Reads a complete tarball.
pub(crate) fn read_tarball(path: &Path) -> Result<Files, SourceError> {
    read(path).map_err(SourceError::from)
}

/// Reads a complete tarball. Anything that may hide a file makes it unusable: a lost file of a
/// blocked edge would offer updates that are blocked.
fn read(path: &Path) -> Result<Files, TarballError> {
    let failed = |source| TarballError::Io { path: path.to_owned(), source };
    let mut archive = tar::Archive::new(unpacked(path).map_err(failed)?.take(MAX_UNPACKED));
    let mut reader = TarballReader { path, files: Files::default(), first: None };
    for (number, entry) in archive.entries().map_err(failed)?.enumerate() {
        if number == MAX_ENTRIES {
            return Err(TarballError::TooMany { path: path.to_owned() });
        }
        reader.take(entry.map_err(failed)?)?;
    }
    check_end(path, archive.into_inner())?;
    Ok(reader.files)
}

/// The content of a tarball, decompressed if necessary.
fn unpacked(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut start = Vec::new();
    let mut file = File::open(path)?;
    Read::by_ref(&mut file).take(2).read_to_end(&mut start)?;
    let is_gzip = start == GZIP;
    let whole = io::Cursor::new(start).chain(BufReader::new(file));
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}

/// Checks that the archive is complete. `tar` stops at the first empty block, and also accepts the
/// end of the file as the end of the archive.
fn check_end(path: &Path, mut rest: io::Take<Box<dyn Read>>) -> Result<(), TarballError> {
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
            return Err(TarballError::TrailingData { path: path() });
        }
        behind += count;
        if count == 0 {
            break;
        }
    }
    match behind {
        _ if rest.limit() == 0 => Err(TarballError::TooLarge { path: path() }),
        0..BLOCK => Err(TarballError::Truncated { path: path() }),
        _ => Ok(()),
    }
}

/// Collects the graph-data files of a tarball.
struct TarballReader<'a> {
    path: &'a Path,
    files: Files,
    /// Directory and name of the first file; all others must be in the same directory.
    first: Option<(String, String)>,
}

impl TarballReader<'_> {
    fn take(&mut self, entry: tar::Entry<impl Read>) -> Result<(), TarballError> {
        let path = || self.path.to_owned();
        let failed = |source| TarballError::Io { path: path(), source };
        let name = entry.path().map_err(failed)?.to_string_lossy().into_owned();
        let kind = entry.header().entry_type();
        let Some(EntryPath { above, inner, is_directory }) = EntryPath::parse(&name) else {
            return Ok(());
        };
        if !kind.is_file() && !kind.is_dir() {
            return Err(TarballError::NotAFile { path: path(), name });
        }
        if kind.is_dir() || is_directory {
            return Ok(());
        }
        match &self.first {
            None => self.first = Some((above, name.clone())),
            Some((directory, _)) if *directory == above => {}
            Some((_, other)) => {
                return Err(TarballError::TwoDirectories {
                    path: path(),
                    name,
                    other: other.clone(),
                });
            }
        }
        if self.files.get(&inner).is_some() {
            return Err(TarballError::Duplicate { path: path(), name });
        }
        let mut bytes = Vec::new();
        entry.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        Ok(self.files.insert(inner, bytes)?)
    }
}

/// Path of a graph-data entry in a tarball.
#[derive(Debug, PartialEq, Eq)]
struct EntryPath {
    /// Directory that contains the graph-data: code hosts add one.
    above: String,
    /// Path relative to that directory.
    inner: String,
    /// Whether it is a directory of graph-data.
    is_directory: bool,
}

impl EntryPath {
    fn parse(path: &str) -> Option<Self> {
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
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, EntryType, Header};

    use super::*;

    /// A tarball with entries of these types, each with its path as content.
    fn tarball(entries: &[(&str, EntryType)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, kind) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            if *kind == EntryType::Regular {
                header.set_size(path.len() as u64);
                builder.append_data(&mut header, path, path.as_bytes()).unwrap();
            } else {
                header.set_size(0);
                builder.append_link(&mut header, path, "elsewhere").unwrap();
            }
        }
        builder.into_inner().unwrap()
    }

    fn files(paths: &[&str]) -> Vec<u8> {
        let entries: Vec<_> = paths.iter().map(|path| (*path, EntryType::Regular)).collect();
        tarball(&entries)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// The names of the files, or the error.
    fn found(bytes: &[u8]) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.tar");
        std::fs::write(&path, bytes).unwrap();
        let found =
            read(&path).map_err(|error| error.to_string().replace(path.to_str().unwrap(), "a.tar"));
        found.map(|files| files.iter().map(|(path, _)| path.to_owned()).collect())
    }

    const PATHS: [&str; 4] =
        ["top/README.md", "top/version", "top/channels/a.yaml", "top/blocked-edges/5.1.0.yaml"];

    #[test]
    fn parse_entry_path_at_both_depths_returns_path() {
        let place = |above: &str, inner: &str, is_directory| {
            Some(EntryPath { above: above.to_owned(), inner: inner.to_owned(), is_directory })
        };
        let top = "graph-data-1a2b";
        for (path, expected) in [
            ("version", place("", "version", false)),
            ("./version", place("", "version", false)),
            ("graph-data-1a2b/version", place(top, "version", false)),
            ("graph-data-1a2b/channels/a.yaml", place(top, "channels/a.yaml", false)),
            ("blocked-edges/5.1.0-Risk.yaml", place("", "blocked-edges/5.1.0-Risk.yaml", false)),
            (".//blocked-edges//a.yaml", place("", "blocked-edges/a.yaml", false)),
            ("raw/metadata.json", place("", "raw/metadata.json", false)),
            ("graph-data-1a2b/channels/", place(top, "channels", true)),
            ("raw", place("", "raw", true)),
            ("blocked-edges/deeper/x.yaml", None),
            ("raw/other.json", None),
            ("README.md", None),
            ("a/b/version", None),
            ("", None),
        ] {
            assert_eq!(EntryPath::parse(path), expected, "{path}");
        }
    }

    #[test]
    fn read_truncated_tarball_fails() {
        let whole = files(&PATHS);
        let all = ["blocked-edges/5.1.0.yaml", "channels/a.yaml", "version"];
        assert_eq!(found(&whole).unwrap(), all);
        for length in (0..whole.len()).step_by(256) {
            assert!(found(&whole[..length]).is_err(), "{length} bytes of {}", whole.len());
        }
        let compressed = gzip(&whole);
        assert_eq!(found(&compressed).unwrap(), all);
        for length in 0..compressed.len() {
            assert!(
                found(&compressed[..length]).is_err(),
                "{length} bytes of {}",
                compressed.len()
            );
        }
        assert_eq!(
            found(&[whole, vec![0; 9 * BLOCK]].concat()).unwrap(),
            all,
            "tar fills up records"
        );
    }

    #[test]
    fn read_with_trailing_archive_fails() {
        let two = [files(&PATHS[..3]), files(&PATHS[3..])].concat();
        assert_eq!(found(&two).unwrap_err(), "a.tar has data after the end of the archive");
    }

    #[test]
    fn read_beyond_size_limit_fails() {
        let mut rest = MAX_UNPACKED;
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&files(&PATHS[..3])).unwrap();
        let zeros = vec![0; 1 << 20];
        while rest > 0 {
            encoder.write_all(&zeros).unwrap();
            rest = rest.saturating_sub(zeros.len() as u64);
        }
        let refused = found(&encoder.finish().unwrap()).unwrap_err();
        assert_eq!(refused, format!("a.tar unpacks to more than {MAX_UNPACKED} bytes"));
    }

    #[test]
    fn read_with_links_fails() {
        use EntryType::{Block, Fifo, Link, Symlink};
        for path in
            ["blocked-edges/5.1.0.yaml", "top/channels/a.yaml", "version", "top/blocked-edges"]
        {
            for kind in [Symlink, Link, Fifo, Block] {
                let refused = found(&tarball(&[(path, kind)])).unwrap_err();
                assert_eq!(refused, format!("{path} in a.tar is not a file"));
            }
        }
        let elsewhere = tarball(&[("top/docs", Symlink), ("top/version", EntryType::Regular)]);
        assert_eq!(found(&elsewhere).unwrap(), ["version"]);
    }

    #[test]
    fn read_with_duplicates_fails() {
        insta::assert_snapshot!(found(&files(&["a/version", "a/version"])).unwrap_err(), @"a/version occurs twice in a.tar");
        insta::assert_snapshot!(found(&files(&["a/version", "b/version"])).unwrap_err(), @"a.tar has graph-data in two directories, such as b/version and a/version");
        insta::assert_snapshot!(found(&files(&["version", "b/channels/c.yaml"])).unwrap_err(), @"a.tar has graph-data in two directories, such as b/channels/c.yaml and version");
    }
}
