//! The cgroups of the pods of a cluster: one tree for each cluster.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use fairway_registry::Digest;

use crate::wait;

const MOUNTS: &str = "/sys/fs/cgroup";

/// Controllers that the kubelet needs in its root cgroup (cgroup v2).
const CONTROLLERS: [&str; 5] = ["cpu", "cpuset", "memory", "pids", "hugetlb"];

/// Enough digits of a digest to distinguish the run directories of a host.
const DIGITS: usize = 12;

/// The root cgroup of the cluster in a run directory. Its name is derived from the directory, so that the
/// removal of the directory finds the cgroup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RootCgroup {
    name: String,
}

impl RootCgroup {
    /// The cgroup of an existing run directory.
    pub(crate) fn for_run_dir(run_dir: &Path) -> io::Result<Self> {
        // Symbolic links to a directory have the same cgroup.
        let path = fs::canonicalize(run_dir)?;
        let digest = Digest::of(path.as_os_str().as_encoded_bytes());
        let digits: String = digest.hex().chars().take(DIGITS).collect();
        Ok(Self { name: format!("fairway-{digits}") })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Creates the cgroup in every hierarchy.
    pub(crate) fn create(&self) -> Result<()> {
        enable_controllers(Path::new(MOUNTS));
        for path in self.paths() {
            fs::create_dir_all(&path)
                .with_context(|| format!("cannot create the control group {}", path.display()))?;
        }
        Ok(())
    }

    /// Removes the cgroup from every hierarchy. The kernel refuses while killed processes exit, so it is
    /// retried until the timeout. Does nothing if there is none.
    pub(crate) fn remove(&self, timeout: Duration) -> Result<()> {
        let mut left = self.paths();
        wait::until(&format!("the control group {} to empty", self.name), timeout, || {
            left.retain(|path| !remove_tree(path));
            Ok(left.is_empty().then_some(()))
        })
    }

    fn paths(&self) -> Vec<PathBuf> {
        hierarchies(Path::new(MOUNTS)).iter().map(|path| path.join(&self.name)).collect()
    }
}

/// The hierarchies of cgroup v1, or the only one of v2.
fn hierarchies(mounts: &Path) -> Vec<PathBuf> {
    if available_controllers(mounts).is_some() {
        return vec![mounts.to_owned()];
    }
    let entries = fs::read_dir(mounts).into_iter().flatten().flatten();
    entries
        // Symbolic links are aliases: `cpu` of `cpu,cpuacct`.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// The controllers of cgroup v2, if it is mounted.
fn available_controllers(mounts: &Path) -> Option<String> {
    fs::read_to_string(mounts.join("cgroup.controllers")).ok()
}

/// Enables controllers for cgroups below the root, which cgroup v2 requires.
fn enable_controllers(mounts: &Path) {
    let available = available_controllers(mounts).unwrap_or_default();
    for controller in required(&available) {
        // One by one, and without errors: the kubelet names the controllers that are missing.
        fs::write(mounts.join("cgroup.subtree_control"), format!("+{controller}")).ok();
    }
}

fn required(available: &str) -> Vec<&str> {
    available.split_whitespace().filter(|name| CONTROLLERS.contains(name)).collect()
}

/// Removes a cgroup and its children. Returns whether it is gone. The files in it cannot be deleted.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_linked_directory_is_the_same() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (root.path().join("first"), root.path().join("second"));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        std::os::unix::fs::symlink(&first, root.path().join("link")).unwrap();
        let group = RootCgroup::for_run_dir(&first).unwrap();
        assert_eq!(group.name().len(), "fairway-".len() + DIGITS);
        assert_eq!(group, RootCgroup::for_run_dir(&root.path().join("link")).unwrap());
        assert_ne!(group, RootCgroup::for_run_dir(&second).unwrap());
    }

    #[test]
    fn remove_of_missing_cgroup_succeeds() {
        let root = tempfile::tempdir().unwrap();
        RootCgroup::for_run_dir(root.path()).unwrap().remove(Duration::ZERO).unwrap();
    }

    #[test]
    fn create_in_cgroup_v2_enables_available_controllers() {
        assert_eq!(
            required("cpuset cpu io memory pids rdma\n"),
            ["cpuset", "cpu", "memory", "pids"]
        );
        let mounts = tempfile::tempdir().unwrap();
        fs::write(mounts.path().join("cgroup.controllers"), "io memory\n").unwrap();
        enable_controllers(mounts.path());
        let written = fs::read_to_string(mounts.path().join("cgroup.subtree_control")).unwrap();
        assert_eq!(written, "+memory");
        assert_eq!(hierarchies(mounts.path()), [mounts.path()]);
    }
}
