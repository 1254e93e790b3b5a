//! Reads a graph-data directory into [`Files`].
//!
//! `fairway-graph` is pure: it takes names and bytes. The update service, the command line and
//! benches read directories through [`read`], so the limits and the rules about links exist once.
//! Files other than graph-data are skipped; a link to a target outside of the directory is a
//! [`DirectoryError`].

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use fairway_graph::Files;
use fairway_graph::data::{BLOCKED_EDGES, CHANNELS, RAW_METADATA, SCHEMA};
use fairway_graph::files::{FilesError, MAX_FILE_BYTES, MAX_FILES};

/// A directory that cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum DirectoryError {
    /// A file or directory cannot be read.
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A link points outside of the directory.
    #[error("cannot read {}: symbolic link to a target outside of the directory", path.display())]
    LeadsOut { path: PathBuf },
    /// A link is broken: its content is lost.
    #[error("cannot read {}: broken symbolic link", path.display())]
    LeadsNowhere { path: PathBuf },
    /// Not a regular file: a pipe, device or socket.
    #[error("cannot read {}: not a regular file", path.display())]
    NotAFile { path: PathBuf },
    /// A name is not UTF-8.
    #[error("cannot read {}: the name is not UTF-8", path.display())]
    Name { path: PathBuf },
    /// A limit is exceeded.
    #[error(transparent)]
    Limit(#[from] FilesError),
}

/// Reads the graph-data files of a directory, and no others.
pub fn read(root: &Path) -> Result<Files, DirectoryError> {
    let reader = Reader { real_root: fs::canonicalize(root).map_err(at(root))?, root };
    let mut files = Files::default();
    for file in [SCHEMA, RAW_METADATA] {
        reader.file(file, &mut files)?;
    }
    for directory in [CHANNELS, BLOCKED_EDGES] {
        reader.directory(directory, &mut files)?;
    }
    Ok(files)
}

struct Reader<'a> {
    root: &'a Path,
    real_root: PathBuf,
}

impl Reader<'_> {
    /// Reads the files of a directory, if it exists.
    fn directory(&self, name: &str, files: &mut Files) -> Result<(), DirectoryError> {
        let path = self.root.join(name);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return check_absent(path),
            Err(error) => return Err(at(&path)(error)),
        };
        self.stays_inside(&path)?;
        // One more than the limit, to detect the excess before any file is opened.
        let names: io::Result<Vec<OsString>> =
            entries.take(MAX_FILES + 1).map(|entry| Ok(entry?.file_name())).collect();
        let mut names = names.map_err(at(&path))?;
        if names.len() > MAX_FILES {
            return Err(FilesError::TooMany.into());
        }
        // Sorted, so that the first error is always the same.
        names.sort_unstable();
        for file in names {
            let Some(file) = file.to_str() else {
                return Err(DirectoryError::Name { path: path.join(file) });
            };
            self.file(&format!("{name}/{file}"), files)?;
        }
        Ok(())
    }

    /// Reads a file, if it exists.
    fn file(&self, name: &str, files: &mut Files) -> Result<(), DirectoryError> {
        let path = self.root.join(name);
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return check_absent(path),
            Err(error) => return Err(at(&path)(error)),
        };
        self.stays_inside(&path)?;
        // The kubelet puts its own directories into mounted ConfigMaps.
        if metadata.is_dir() {
            return Ok(());
        }
        if !metadata.is_file() {
            return Err(DirectoryError::NotAFile { path });
        }
        let limit = MAX_FILE_BYTES as u64;
        if metadata.len() > limit {
            let (path, size) = (name.to_owned(), metadata.len());
            return Err(FilesError::FileTooLarge { path, size }.into());
        }
        let mut bytes = Vec::new();
        let file = fs::File::open(&path).map_err(at(&path))?;
        file.take(limit + 1).read_to_end(&mut bytes).map_err(at(&path))?;
        Ok(files.insert(name, bytes)?)
    }

    /// Refuses paths outside of the directory.
    fn stays_inside(&self, path: &Path) -> Result<(), DirectoryError> {
        let real = fs::canonicalize(path).map_err(at(path))?;
        if real.starts_with(&self.real_root) {
            Ok(())
        } else {
            Err(DirectoryError::LeadsOut { path: path.to_owned() })
        }
    }
}

/// Checks that a path that was not found is not a broken link.
fn check_absent(path: PathBuf) -> Result<(), DirectoryError> {
    let is_link = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink());
    if is_link { Err(DirectoryError::LeadsNowhere { path }) } else { Ok(()) }
}

fn at(path: &Path) -> impl Fn(io::Error) -> DirectoryError {
    move |source| DirectoryError::Io { path: path.to_owned(), source }
}
