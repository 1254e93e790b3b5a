//! Directories that exist on the machine only to be mounted over inside cells.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Tells a directory that was created here from one that belongs to the machine. It lies below
/// the mounts, so no cell sees it.
const MARK: &str = ".fairway-testbed";

/// Creates a mount point if the machine has no such directory. Callers take turns.
pub(crate) fn create(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(path)
        .and_then(|()| fs::write(path.join(MARK), ""))
        .with_context(|| format!("cannot create the mount point {}", path.display()))
}

/// Removes a mount point that was created here, unless another cell still uses it: the kernel
/// would let it go there as well. Callers take turns.
pub(crate) fn remove(path: &Path) {
    if is_only_ours(path) && !is_mounted_anywhere(path) {
        fs::remove_file(path.join(MARK)).and_then(|()| fs::remove_dir(path)).ok();
    }
}

fn is_only_ours(path: &Path) -> bool {
    let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.next().is_some_and(|entry| entry.file_name() == MARK) && entries.next().is_none()
}

/// Whether any process sees something mounted there.
fn is_mounted_anywhere(path: &Path) -> bool {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|process| fs::read_to_string(process.path().join("mountinfo")).ok())
        .any(|mounts| mounts.lines().any(|mount| is_on(mount, path.as_os_str())))
}

/// Whether a line of `mountinfo` is about a mount point, which is its fifth field.
fn is_on(mount: &str, path: &OsStr) -> bool {
    mount.split(' ').nth(4).is_some_and(|on| OsStr::new(on) == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_created_is_removed_and_what_was_there_stays() {
        let root = tempfile::tempdir().unwrap();
        let (ours, theirs) = (root.path().join("ours"), root.path().join("theirs"));
        fs::create_dir(&theirs).unwrap();
        for path in [&ours, &theirs] {
            create(path).unwrap();
            remove(path);
        }
        assert!(!ours.exists());
        assert!(theirs.exists());
    }

    #[test]
    fn what_somebody_began_to_use_stays() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("path");
        create(&path).unwrap();
        fs::write(path.join("data"), "").unwrap();
        remove(&path);
        assert!(path.exists());
    }

    #[test]
    fn mounts_are_told_apart_by_where_they_are() {
        let line = "36 35 98:0 /sub /var/lib/kubelet rw,noatime shared:1 - ext4 /dev/root rw";
        assert!(is_on(line, OsStr::new("/var/lib/kubelet")));
        assert!(!is_on(line, OsStr::new("/var/lib")));
        assert!(is_mounted_anywhere(Path::new("/proc")));
    }
}
