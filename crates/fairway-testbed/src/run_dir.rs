//! The directories of running components, one each, that a dead owner's successor sweeps.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cache::{self, Cache};
use crate::{cgroup, mount_point, wait};

/// Others hold the lock while they sweep and choose, which takes a fraction of a second each.
const TURN: Duration = Duration::from_mins(1);

/// The kernel releases a lock with the last process that holds it.
const RELEASE: Duration = Duration::from_secs(10);

const LOCK: &str = "lock";
/// Holds the second number of a cluster's network, 127.N.0.0/24.
const NET: &str = "net";
/// Names the root of a cluster's control groups.
const CGROUP: &str = "cgroup";
/// Lists the directories of this machine that are mounted over.
const MOUNT_POINTS: &str = "mount-points";

/// How long a component lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// As long as the value that owns it, and never longer than its process.
    #[default]
    Owned,
    /// Until it is stopped by what its state file records.
    Detached,
}

/// All the directories, for as long as this process alone may add to them.
pub(crate) struct Runs {
    root: PathBuf,
    _turn: File,
}

impl Runs {
    /// Waits for its turn and sweeps what dead owners left.
    pub(crate) fn take_turn(cache: &Cache) -> Result<Self> {
        let root = cache.run();
        fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;
        let turn = root.join(LOCK);
        let turn =
            wait::until(&format!("the lock {}", turn.display()), TURN, || cache::try_lock(&turn))?;
        let runs = Self { root, _turn: turn };
        for stale in runs.all()?.into_iter().filter(|path| !is_held(path)) {
            sweep(&stale)?;
        }
        Ok(runs)
    }

    /// A new directory: named after its kind if it is to be found again, else at random.
    pub(crate) fn create(&self, kind: &str, lifetime: Lifetime) -> Result<RunDir> {
        let path = match lifetime {
            Lifetime::Owned => tempfile::Builder::new()
                .prefix(&format!("{kind}-"))
                .tempdir_in(&self.root)
                .map(tempfile::TempDir::keep)?,
            Lifetime::Detached => self.root.join(kind),
        };
        if path.join(LOCK).exists() && is_held(&path) {
            bail!("{kind} already runs in {}", path.display());
        }
        fs::create_dir_all(path.join("log"))?;
        // Private keys live here.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        let lock = cache::try_lock(&path.join(LOCK))?.context("the new directory is in use")?;
        Ok(RunDir { path, lock })
    }

    /// Reserves the first network that no running cluster has and that `is_free` allows.
    pub(crate) fn reserve_net(
        &self,
        directory: &RunDir,
        candidates: impl IntoIterator<Item = u8>,
        is_free: impl Fn(u8) -> bool,
    ) -> Result<u8> {
        let taken: Vec<u8> = self.all()?.iter().filter_map(|path| net_of(path)).collect();
        let net = candidates
            .into_iter()
            .find(|net| !taken.contains(net) && is_free(*net))
            .context("every network for clusters is taken; stop one: cargo xtask kube down")?;
        fs::write(directory.path.join(NET), net.to_string())?;
        Ok(net)
    }

    fn all(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.root)?.map(|entry| Ok(entry?.path()));
        let paths: Result<Vec<PathBuf>> = entries.collect();
        Ok(paths?.into_iter().filter(|path| path.is_dir()).collect())
    }
}

/// The directory of one running component.
#[derive(Debug)]
pub(crate) struct RunDir {
    path: PathBuf,
    lock: File,
}

impl RunDir {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Creates the root of a cluster's control groups and remembers to remove it.
    pub(crate) fn create_cgroup(&self, root: &str) -> Result<()> {
        fs::write(self.join(CGROUP), root)?;
        cgroup::create(root)
    }

    /// Creates a directory outside, to be mounted over inside a cell, and remembers to remove it.
    pub(crate) fn create_mount_point(&self, path: &str) -> Result<()> {
        let mut list = File::options().create(true).append(true).open(self.join(MOUNT_POINTS))?;
        writeln!(list, "{path}")?;
        mount_point::create(Path::new(path))
    }

    /// Where a component's output goes.
    pub(crate) fn log(&self, component: &str) -> PathBuf {
        self.path.join("log").join(format!("{component}.log"))
    }

    /// The lock, to be held by what must not outlive the directory.
    pub(crate) fn share_lock(&self) -> Result<File> {
        Ok(self.lock.try_clone()?)
    }
}

/// Whether something that runs holds the directory.
pub(crate) fn is_held(path: &Path) -> bool {
    path.join(LOCK).exists() && !matches!(cache::try_lock(&path.join(LOCK)), Ok(Some(_)))
}

/// Waits until nothing holds the directory. A process that this one is just starting shares its
/// files, and so its locks, for a moment.
pub(crate) fn until_released(path: &Path) -> Result<()> {
    wait::until(&format!("{} to be released", path.display()), RELEASE, || {
        Ok((!is_held(path)).then_some(()))
    })
}

/// Removes a directory that nothing holds any more, and what was created elsewhere for it.
pub(crate) fn sweep(path: &Path) -> Result<()> {
    if let Ok(root) = fs::read_to_string(path.join(CGROUP)) {
        cgroup::remove(root.trim())?;
    }
    for path in fs::read_to_string(path.join(MOUNT_POINTS)).unwrap_or_default().lines() {
        mount_point::remove(Path::new(path));
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn net_of(path: &Path) -> Option<u8> {
    fs::read_to_string(path.join(NET)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        (root, cache)
    }

    #[test]
    fn networks_are_given_out_once_and_again_after_the_owner() {
        let (_root, cache) = cache();
        let claim = || {
            let runs = Runs::take_turn(&cache).unwrap();
            let directory = runs.create("kube", Lifetime::Owned).unwrap();
            let net = runs.reserve_net(&directory, 96..=126, |net| net != 97).unwrap();
            (directory, net)
        };
        let first = claim();
        let second = claim();
        assert_eq!((first.1, second.1), (96, 98));
        let path = first.0.path().to_owned();
        drop(first);
        until_released(&path).unwrap();
        assert_eq!(claim().1, 96);
    }

    #[test]
    fn directories_of_the_dead_are_swept_and_those_of_the_living_stay() {
        let (_root, cache) = cache();
        let dead = Runs::take_turn(&cache).unwrap().create("kube", Lifetime::Owned).unwrap();
        let alive = Runs::take_turn(&cache).unwrap().create("kube", Lifetime::Owned).unwrap();
        let path = dead.path().to_owned();
        drop(dead);
        until_released(&path).unwrap();
        drop(Runs::take_turn(&cache).unwrap());
        assert!(!path.exists());
        assert!(alive.path().exists());
    }

    #[test]
    fn a_named_directory_is_created_once() {
        let (_root, cache) = cache();
        let runs = Runs::take_turn(&cache).unwrap();
        let _held = runs.create("kube", Lifetime::Detached).unwrap();
        let error = runs.create("kube", Lifetime::Detached).unwrap_err();
        assert!(error.to_string().starts_with("kube already runs in "));
    }
}
