//! Writing the files of a volume so that a container sees all of them change at once.
//!
//! `..data` is a link to a directory with the files, and every name in the volume is a link through
//! it: replacing one link replaces everything, as the kubelet does it.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use super::plan::VolumeFile;
use crate::node::files::remove_tree;

const CURRENT: &str = "..data";

/// Writes the files into the directory of a volume, if they are others than those there.
/// `generation` has to be another one each time.
pub(crate) fn write_files(
    directory: &Path,
    files: &[VolumeFile],
    generation: &str,
) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    if is_current(directory, files) {
        return Ok(());
    }
    let name = format!("..{generation}");
    let place = directory.join(&name);
    remove_tree(&place)?;
    fs::create_dir_all(&place)?;
    for file in files {
        let path = place.join(inside(&file.path)?);
        fs::create_dir_all(path.parent().unwrap_or(&place))?;
        fs::write(&path, &file.content)?;
        fs::set_permissions(&path, Permissions::from_mode(file.mode))?;
    }
    let previous = fs::read_link(directory.join(CURRENT)).ok();
    let unfinished = directory.join("..data_tmp");
    let _ = fs::remove_file(&unfinished);
    symlink(&name, &unfinished)?;
    fs::rename(&unfinished, directory.join(CURRENT))?;
    link_names(directory, files)?;
    match previous {
        Some(previous) if previous != Path::new(&name) => remove_tree(&directory.join(previous)),
        _ => Ok(()),
    }
}

fn link_names(directory: &Path, files: &[VolumeFile]) -> io::Result<()> {
    let first = |file: &VolumeFile| inside(&file.path).ok()?.iter().next().map(PathBuf::from);
    let names: BTreeSet<PathBuf> = files.iter().filter_map(first).collect();
    for entry in fs::read_dir(directory)? {
        let name = PathBuf::from(entry?.file_name());
        if !name.to_string_lossy().starts_with("..") && !names.contains(&name) {
            fs::remove_file(directory.join(name))?;
        }
    }
    for name in names {
        if fs::symlink_metadata(directory.join(&name)).is_err() {
            symlink(Path::new(CURRENT).join(&name), directory.join(&name))?;
        }
    }
    Ok(())
}

fn is_current(directory: &Path, files: &[VolumeFile]) -> bool {
    let current = directory.join(CURRENT);
    let same = |file: &VolumeFile| {
        inside(&file.path)
            .and_then(|path| fs::read(current.join(path)))
            .is_ok_and(|content| content == file.content)
    };
    let names = fs::read_dir(directory).map_or(0, |entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter(|name| !name.to_string_lossy().starts_with("..")).count()
    });
    let first = |file: &VolumeFile| file.path.split('/').next().map(str::to_owned);
    let expected: BTreeSet<String> = files.iter().filter_map(first).collect();
    current.exists() && names == expected.len() && files.iter().all(same)
}

/// The API refuses such paths already; nothing here relies on it.
fn inside(path: &str) -> io::Result<PathBuf> {
    let path = PathBuf::from(path);
    let normal = path.components().all(|part| matches!(part, Component::Normal(_)));
    if normal && !path.as_os_str().is_empty() {
        Ok(path)
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> VolumeFile {
        VolumeFile { path: path.to_owned(), content: content.into(), mode: 0o640 }
    }

    #[test]
    fn files_change_together_and_vanish() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let read = |name: &str| fs::read_to_string(path.join(name)).ok();
        write_files(path, &[file("a", "1"), file("sub/b", "2")], "one").unwrap();
        assert_eq!((read("a"), read("sub/b")), (Some("1".into()), Some("2".into())));
        let mode = fs::metadata(path.join("a")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        write_files(path, &[file("a", "3")], "two").unwrap();
        assert_eq!((read("a"), read("sub/b")), (Some("3".into()), None));
        assert!(!path.join("..one").exists());
        write_files(path, &[file("a", "3")], "three").unwrap();
        assert!(!path.join("..three").exists(), "nothing has changed");
    }

    #[test]
    fn a_file_stays_in_its_volume() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["../x", "/x", "a/../../x", ""] {
            assert!(write_files(directory.path(), &[file(path, "x")], "one").is_err(), "{path}");
        }
    }
}
