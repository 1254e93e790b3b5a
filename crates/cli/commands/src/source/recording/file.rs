//! Files and directories, within limits.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::input;

/// Directory depth. `oc adm must-gather` has seven levels.
const MAX_DEPTH: usize = 16;

/// Files and directories. The must-gather of a cluster with 500 nodes has half of it.
const MAX_ENTRIES: usize = 200_000;

/// Bytes that are read of a directory at once: ten times the largest kind of a large cluster.
pub(super) const MAX_BYTES: usize = 512 << 20;

/// Extensions of files with objects or alerts.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Content of a file, `None` if it does not exist.
pub(super) fn bytes(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match input::bytes(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", input::name(path))),
    }
}

/// Files below a directory that may have objects, sorted. Symlinks are skipped: they may lead
/// anywhere, and in cycles.
pub(super) fn below(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut files, mut entries) = (Vec::new(), 0);
    let mut directories = vec![(root.to_owned(), 0)];
    while let Some((directory, depth)) = directories.pop() {
        let name = directory.display().to_string();
        ensure!(depth <= MAX_DEPTH, "{name} is more than {MAX_DEPTH} directories deep");
        let listed = fs::read_dir(&directory).with_context(|| format!("cannot list {name}"))?;
        for entry in listed {
            let entry = entry.with_context(|| format!("cannot list {name}"))?;
            entries += 1;
            ensure!(entries <= MAX_ENTRIES, "{} has more than {MAX_ENTRIES} files", root.display());
            let kind = entry.file_type().with_context(|| format!("cannot list {name}"))?;
            match entry.path() {
                path if kind.is_dir() => directories.push((path, depth + 1)),
                path if kind.is_file() && may_have_objects(&path) => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

fn may_have_objects(path: &Path) -> bool {
    path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|it| extension == *it))
}

/// Reads files, within [`MAX_BYTES`].
pub(super) fn each<'a, T>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
    read: impl Fn(&Path, &[u8]) -> anyhow::Result<Vec<T>>,
) -> anyhow::Result<Vec<T>> {
    let (mut all, mut total) = (Vec::new(), 0);
    for path in paths {
        // The file was deleted after it was listed.
        let Some(bytes) = bytes(path)? else { continue };
        total += bytes.len();
        ensure!(
            total <= MAX_BYTES,
            "{}: the recorded files exceed {MAX_BYTES} bytes",
            path.display()
        );
        all.extend(read(path, &bytes)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_with_symlinks_skips_them() {
        let directory = tempfile::tempdir().unwrap();
        let [root, other] = ["root", "other"].map(|name| directory.path().join(name));
        for path in [root.join("deep/er"), other.clone()] {
            fs::create_dir_all(path).unwrap();
        }
        for path in
            ["root/b.yaml", "root/a.json", "root/deep/er/c.yml", "root/x.log", "other/d.yaml"]
        {
            fs::write(directory.path().join(path), "{}").unwrap();
        }
        std::os::unix::fs::symlink(&other, root.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("circle")).unwrap();
        std::os::unix::fs::symlink(other.join("d.yaml"), root.join("d.yaml")).unwrap();
        let found = below(&root).unwrap();
        let names: Vec<_> =
            found.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a.json", "b.yaml", "deep/er/c.yml"]);
    }

    #[test]
    fn list_beyond_max_depth_fails() {
        let directory = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", MAX_DEPTH + 1).collect();
        fs::create_dir_all(directory.path().join(deep)).unwrap();
        assert!(below(directory.path()).unwrap_err().to_string().contains("16 directories deep"));
    }
}
