//! Files of a directory, with the limits of a release.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use anyhow::Context;
use fairway_release::payload::{MAX_BYTES, MAX_FILE_BYTES, MAX_FILES};

/// The selected files of a directory by name, without subdirectories.
pub(super) fn files(
    directory: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let place = directory.display();
    let unreadable = || format!("cannot read {place}");
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    for entry in fs::read_dir(directory).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !is_wanted(name) || !path.is_file() {
            continue;
        }
        let content = content(&path)?;
        bytes += content.len();
        files.insert(name.to_owned(), content);
        let fits = bytes <= MAX_BYTES && files.len() <= MAX_FILES;
        anyhow::ensure!(fits, "{place} has too many or too large files for a release");
    }
    Ok(files)
}

/// Reads a file, up to one byte over the limit, so that the loader can refuse it.
fn content(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut content))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(content)
}
