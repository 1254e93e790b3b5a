//! Directories of the host that exist only as mount points for namespaces.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Marks a directory that the testbed created. The mounts hide it in namespaces.
const MARKER: &str = ".fairway-testbed";

/// Creates a mount point if the directory does not exist. The caller holds the lock of the run directory.
pub(crate) fn create(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(path)
        .and_then(|()| fs::write(path.join(MARKER), ""))
        .with_context(|| format!("cannot create the mount point {}", path.display()))
}

/// Removes a mount point that the testbed created, unless another namespace uses it: the kernel would
/// permit the removal. The caller holds the lock of the run directory.
pub(crate) fn remove(path: &Path) {
    if has_only_marker(path) && !is_mounted_anywhere(path) {
        fs::remove_file(path.join(MARKER)).and_then(|()| fs::remove_dir(path)).ok();
    }
}

fn has_only_marker(path: &Path) -> bool {
    let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.next().is_some_and(|entry| entry.file_name() == MARKER) && entries.next().is_none()
}

/// Whether a mount namespace has a mount at a path.
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
    fn remove_keeps_directories_that_existed_before() {
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
    fn remove_keeps_directories_with_other_files() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("path");
        create(&path).unwrap();
        fs::write(path.join("data"), "").unwrap();
        remove(&path);
        assert!(path.exists());
    }

    #[test]
    fn is_on_compares_the_mount_point() {
        let line = "36 35 98:0 /sub /var/lib/kubelet rw,noatime shared:1 - ext4 /dev/root rw";
        assert!(is_on(line, OsStr::new("/var/lib/kubelet")));
        assert!(!is_on(line, OsStr::new("/var/lib")));
        assert!(is_mounted_anywhere(Path::new("/proc")));
    }
}
