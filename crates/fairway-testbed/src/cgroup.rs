//! The control groups of a cluster's pods: one tree per cluster, so that it can be removed whole.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::wait;

const MOUNTS: &str = "/sys/fs/cgroup";

/// A group stays busy for a moment after the last of its processes was killed.
const RELEASE: Duration = Duration::from_secs(10);

/// Creates the root in every hierarchy, as the kubelet expects to find it.
pub(crate) fn create(root: &str) -> Result<()> {
    for hierarchy in hierarchies() {
        let path = hierarchy.join(root);
        fs::create_dir_all(&path)
            .with_context(|| format!("cannot create the control group {}", path.display()))?;
    }
    Ok(())
}

/// Removes the root from every hierarchy.
pub(crate) fn remove(root: &str) -> Result<()> {
    for hierarchy in hierarchies() {
        let path = hierarchy.join(root);
        wait::until(&format!("the control group {} to empty", path.display()), RELEASE, || {
            Ok(remove_tree(&path).then_some(()))
        })?;
    }
    Ok(())
}

/// Every hierarchy of version 1, or the only one of version 2.
fn hierarchies() -> Vec<PathBuf> {
    let mounts = Path::new(MOUNTS);
    if mounts.join("cgroup.controllers").exists() {
        return vec![mounts.to_owned()];
    }
    let entries = fs::read_dir(mounts).into_iter().flatten().flatten();
    entries
        // Symbolic links are second names: `cpu` of `cpu,cpuacct`.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// Whether the directory and all below it are gone. Groups hold no files that could be deleted.
fn remove_tree(path: &Path) -> bool {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&entry.path());
        }
    }
    match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}
