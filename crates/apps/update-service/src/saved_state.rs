//! State that survives a restart of the service: small files in one directory.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use fairway_graph::Files;
use jiff::Timestamp;

use crate::source::{SourceError, read_tarball};

/// File with the served graph-data.
const GRAPH_DATA: &str = "graph-data.tar.gz";

/// The state directory. Only one process may use it at a time.
#[derive(Clone, Debug)]
pub(crate) struct SavedState {
    directory: PathBuf,
}

/// Graph-data that the service served before it was restarted.
pub(crate) struct SavedGraphData {
    pub(crate) files: Files,
    /// Time at which it was saved.
    pub(crate) saved: Timestamp,
}

impl SavedState {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// The saved graph-data, if there is any.
    pub(crate) fn graph_data(&self) -> Result<Option<SavedGraphData>, SourceError> {
        let path = self.directory.join(GRAPH_DATA);
        let modified = match fs::metadata(&path) {
            Ok(found) => found.modified()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let saved = Timestamp::try_from(modified)?;
        Ok(Some(SavedGraphData { files: read_tarball(&path)?, saved }))
    }

    /// Saves graph-data as an archive.
    pub(crate) fn save_graph_data(&self, archive: &[u8]) -> io::Result<()> {
        write(&self.directory.join(GRAPH_DATA), archive)
    }
}

/// Replaces a file. After a crash, the file has either the old or the new content.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let unfinished = path.with_extension("tmp");
    let mut file = fs::File::create(&unfinished)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    fs::File::open(directory)?.sync_all()
}
