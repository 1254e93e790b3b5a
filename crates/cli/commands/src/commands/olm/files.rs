//! The files of a file-based catalog.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use fairway_compat::olm::catalog::CatalogFile;

/// Maximum depth of directories; catalogs have one directory for each package.
const MAX_DEPTH: usize = 16;

/// Maximum number of files; the largest catalogs have a few hundred.
const MAX_FILES: usize = 20_000;

/// Maximum size of a file, several times that of the largest package.
const MAX_BYTES: u64 = 256 << 20;

/// Reads a catalog: a directory or a file.
pub(super) fn read(catalog: &Path) -> anyhow::Result<Vec<CatalogFile>> {
    let mut paths = Vec::new();
    collect(catalog, 0, &mut paths)?;
    paths.iter().map(|path| file(path)).collect()
}

fn file(path: &Path) -> anyhow::Result<CatalogFile> {
    let name = path.display().to_string();
    let cannot = || format!("cannot read {name}");
    let size = fs::metadata(path).with_context(cannot)?.len();
    if size > MAX_BYTES {
        bail!("{name} has {size} bytes; the maximum is {MAX_BYTES}");
    }
    Ok(CatalogFile::read(&name, &fs::read(path).with_context(cannot)?)?)
}

/// The files of a catalog, in the order of their names.
fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let cannot = || format!("cannot read {}", path.display());
    if !fs::metadata(path).with_context(cannot)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    if depth > MAX_DEPTH || files.len() > MAX_FILES {
        bail!("{} has too many files or nested directories for a catalog", path.display());
    }
    let entries = fs::read_dir(path).with_context(cannot)?;
    let entries: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries.map_err(|error: std::io::Error| error).with_context(cannot)?;
    entries.sort();
    for entry in entries {
        let ending = entry.extension().and_then(|ending| ending.to_str());
        if entry.is_dir() || matches!(ending, Some("json" | "yaml" | "yml")) {
            collect(&entry, depth + 1, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_returns_files_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::create_dir(path.join("etcd")).unwrap();
        for file in ["etcd/b.json", "etcd/a.yaml", "README.md", "c.yml"] {
            fs::write(path.join(file), "").unwrap();
        }
        let mut files = Vec::new();
        collect(path, 0, &mut files).unwrap();
        let names = files.iter().map(|file| file.strip_prefix(path).unwrap().to_str().unwrap());
        assert_eq!(names.collect::<Vec<_>>(), ["c.yml", "etcd/a.yaml", "etcd/b.json"]);
    }
}
