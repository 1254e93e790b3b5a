//! The control groups of a cluster's pods: one tree per cluster, so that it can be removed whole.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use fairway_registry::Digest;

use crate::wait;

const MOUNTS: &str = "/sys/fs/cgroup";

/// What the kubelet asks of its root in version 2.
const CONTROLLERS: [&str; 5] = ["cpu", "cpuset", "memory", "pids", "hugetlb"];

/// As many digits of a digest as tell all run directories of a machine apart.
const DIGITS: usize = 12;

/// The root of the control groups of the cluster that runs in a directory. Its name follows from
/// the directory, so that whoever sweeps one finds the other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    name: String,
}

impl Group {
    /// The group of an existing run directory.
    pub(crate) fn of(run_dir: &Path) -> io::Result<Self> {
        // A directory has one group, by whatever links it is reached.
        let path = fs::canonicalize(run_dir)?;
        let digest = Digest::of(path.as_os_str().as_encoded_bytes());
        let digits: String = digest.hex().chars().take(DIGITS).collect();
        Ok(Self { name: format!("fairway-{digits}") })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Creates it in every hierarchy, as the kubelet expects to find it.
    pub(crate) fn create(&self) -> Result<()> {
        pass_controllers_on(Path::new(MOUNTS));
        for path in self.paths() {
            fs::create_dir_all(&path)
                .with_context(|| format!("cannot create the control group {}", path.display()))?;
        }
        Ok(())
    }

    /// Removes it from every hierarchy, where it may be busy for a moment after the last of its
    /// processes was killed. Does nothing if there is none.
    pub(crate) fn remove(&self, patience: Duration) -> Result<()> {
        let mut left = self.paths();
        wait::until(&format!("the control group {} to empty", self.name), patience, || {
            left.retain(|path| !remove_tree(path));
            Ok(left.is_empty().then_some(()))
        })
    }

    fn paths(&self) -> Vec<PathBuf> {
        hierarchies(Path::new(MOUNTS)).iter().map(|path| path.join(&self.name)).collect()
    }
}

/// Every hierarchy of version 1, or the only one of version 2.
fn hierarchies(mounts: &Path) -> Vec<PathBuf> {
    if available_controllers(mounts).is_some() {
        return vec![mounts.to_owned()];
    }
    let entries = fs::read_dir(mounts).into_iter().flatten().flatten();
    entries
        // Symbolic links are second names: `cpu` of `cpu,cpuacct`.
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// The controllers of version 2, if that is what is mounted.
fn available_controllers(mounts: &Path) -> Option<String> {
    fs::read_to_string(mounts.join("cgroup.controllers")).ok()
}

/// In version 2, groups have only the controllers that the root passes on.
fn pass_controllers_on(mounts: &Path) {
    let available = available_controllers(mounts).unwrap_or_default();
    for controller in wanted(&available) {
        // One by one, and as far as the kernel allows: the kubelet says what it misses.
        fs::write(mounts.join("cgroup.subtree_control"), format!("+{controller}")).ok();
    }
}

fn wanted(available: &str) -> Vec<&str> {
    available.split_whitespace().filter(|name| CONTROLLERS.contains(name)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_group_by_whatever_links_it_is_reached() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (root.path().join("first"), root.path().join("second"));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        std::os::unix::fs::symlink(&first, root.path().join("link")).unwrap();
        let group = Group::of(&first).unwrap();
        assert_eq!(group.name().len(), "fairway-".len() + DIGITS);
        assert_eq!(group, Group::of(&root.path().join("link")).unwrap());
        assert_ne!(group, Group::of(&second).unwrap());
    }

    #[test]
    fn removing_a_group_that_does_not_exist_succeeds() {
        let root = tempfile::tempdir().unwrap();
        Group::of(root.path()).unwrap().remove(Duration::ZERO).unwrap();
    }

    #[test]
    fn the_only_hierarchy_of_version_2_passes_on_what_it_has() {
        assert_eq!(wanted("cpuset cpu io memory pids rdma\n"), ["cpuset", "cpu", "memory", "pids"]);
        let mounts = tempfile::tempdir().unwrap();
        fs::write(mounts.path().join("cgroup.controllers"), "io memory\n").unwrap();
        pass_controllers_on(mounts.path());
        let written = fs::read_to_string(mounts.path().join("cgroup.subtree_control")).unwrap();
        assert_eq!(written, "+memory");
        assert_eq!(hierarchies(mounts.path()), [mounts.path()]);
    }
}
