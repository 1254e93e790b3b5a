//! Run directories: one for each running service. Each start removes those of dead owners.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cache::{self, Cache};
use crate::cgroup::RootCgroup;
use crate::{mount_point, wait};

/// Timeout of the lock, which other processes hold for a fraction of a second each.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// Time until the kernel has released locks and cgroups, after the last process has exited.
pub(crate) const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter for directories of other owners: the next start retries.
const OTHERS_RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// The lock that a running service holds. It also marks a directory of the testbed, so it is created
/// first and removed last.
const LOCK: &str = "lock";
/// The file with N of the cluster network 127.N.0.0/24.
const NET: &str = "net";
/// The file with the created mount points on the host.
const MOUNT_POINTS: &str = "mount-points";

/// The lifetime of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifetime {
    /// That of the value that owns it, and at most that of its process.
    #[default]
    Owned,
    /// Until `state::stop`.
    Detached,
}

/// All run directories, with their lock.
pub(crate) struct RunDirs {
    root: PathBuf,
    _turn: File,
}

impl RunDirs {
    /// Waits for the lock, and removes the directories of dead owners.
    pub(crate) fn take_turn(cache: &Cache) -> Result<Self> {
        cache.root()?;
        let root = cache.run();
        fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;
        let turn = cache::until_locked(&root.join(LOCK), LOCK_TIMEOUT)?;
        let runs = Self { root, _turn: turn };
        runs.remove_unheld(|path| remove_all(path, OTHERS_RELEASE_TIMEOUT))?;
        Ok(runs)
    }

    fn remove_unheld(&self, remove: impl Fn(&Path) -> Result<()>) -> Result<()> {
        for path in self.all()?.iter().filter(|path| !is_held(path)) {
            // An error is ignored: the next start retries.
            remove(path).ok();
        }
        Ok(())
    }

    /// Creates a directory: named after its kind if it is detached, with a random suffix otherwise.
    pub(crate) fn create(&self, kind: &str, lifetime: Lifetime) -> Result<RunDir> {
        let path = match lifetime {
            Lifetime::Owned => tempfile::Builder::new()
                .prefix(&format!("{kind}-"))
                .tempdir_in(&self.root)
                .map(tempfile::TempDir::keep)?,
            Lifetime::Detached => self.create_named(kind)?,
        };
        let lock = cache::try_lock(&path.join(LOCK))?.context("the new directory is in use")?;
        fs::create_dir(path.join("log"))?;
        Ok(RunDir { path, lock })
    }

    fn create_named(&self, kind: &str) -> Result<PathBuf> {
        let path = self.root.join(kind);
        if is_held(&path) {
            bail!("{kind} is already running in {}", path.display());
        }
        remove_all(&path, RELEASE_TIMEOUT)?;
        // It contains private keys.
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Removes a named directory unless a process holds it.
    pub(crate) fn remove(&self, kind: &str) -> Result<()> {
        let path = self.root.join(kind);
        if is_held(&path) { Ok(()) } else { remove_all(&path, RELEASE_TIMEOUT) }
    }

    /// The networks of running clusters.
    pub(crate) fn nets(&self) -> Result<Vec<u8>> {
        let all = self.all()?;
        Ok(all.iter().filter(|path| is_held(path)).filter_map(|path| read_net(path)).collect())
    }

    /// All directories, without symbolic links.
    fn all(&self) -> Result<Vec<PathBuf>> {
        let mut directories = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            }
        }
        Ok(directories)
    }
}

/// The directory of a running service.
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

    /// Reserves a network while the directory is held.
    pub(crate) fn reserve_net(&self, net: u8) -> Result<()> {
        Ok(fs::write(self.join(NET), net.to_string())?)
    }

    /// Creates the root cgroup of a cluster, which is removed with the directory. Returns its name.
    pub(crate) fn create_cgroup(&self) -> Result<String> {
        let group = RootCgroup::for_run_dir(&self.path)?;
        group.create()?;
        Ok(group.name().to_owned())
    }

    /// Creates a mount point on the host, which is removed with the directory.
    pub(crate) fn create_mount_point(&self, path: &str) -> Result<()> {
        let mut list = File::options().create(true).append(true).open(self.join(MOUNT_POINTS))?;
        writeln!(list, "{path}")?;
        mount_point::create(Path::new(path))
    }

    /// The log of a component.
    pub(crate) fn log(&self, component: &str) -> PathBuf {
        self.path.join("log").join(format!("{component}.log"))
    }

    /// The open lock file, for a process that has to hold the lock.
    pub(crate) fn share_lock(&self) -> Result<File> {
        Ok(self.lock.try_clone()?)
    }
}

/// Whether a running process holds the directory.
pub(crate) fn is_held(path: &Path) -> bool {
    let lock = path.join(LOCK);
    if !lock.exists() {
        return false;
    }
    match cache::try_lock(&lock) {
        // Explicitly: a forked process may share the open file until it execs.
        Ok(Some(file)) => file.unlock().is_err(),
        _ => true,
    }
}

/// Waits until no process holds the directory. A forked process shares open files, and so locks, until
/// it execs.
pub(crate) fn until_released(path: &Path) -> Result<()> {
    wait::until(&format!("{} to be released", path.display()), RELEASE_TIMEOUT, || {
        Ok((!is_held(path)).then_some(()))
    })
}

/// Removes an unheld directory, its cgroup and its mount points. A directory without a lock does not
/// belong to the testbed, and is removed only if it is empty.
pub(crate) fn remove_all(path: &Path, timeout: Duration) -> Result<()> {
    if !path.join(LOCK).is_file() {
        return remove_empty(path);
    }
    RootCgroup::for_run_dir(path)?.remove(timeout)?;
    for path in fs::read_to_string(path.join(MOUNT_POINTS)).unwrap_or_default().lines() {
        mount_point::remove(Path::new(path));
    }
    remove_files(path).with_context(|| format!("cannot remove {}", path.display()))
}

fn remove_empty(path: &Path) -> Result<()> {
    match fs::remove_dir(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).with_context(|| {
            format!(
                "{} does not belong to the testbed; move it to another directory",
                path.display()
            )
        }),
        _ => Ok(()),
    }
}

/// Removes the lock last: it marks the directory for the next attempt.
fn remove_files(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != LOCK {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(path.join(LOCK))?;
    fs::remove_dir(path)
}

fn read_net(path: &Path) -> Option<u8> {
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
    fn nets_are_reserved_until_their_owner_ends() {
        let (_root, cache) = cache();
        let runs = RunDirs::take_turn(&cache).unwrap();
        let [first, second] = [96, 98].map(|net| {
            let directory = runs.create("kube", Lifetime::Owned).unwrap();
            directory.reserve_net(net).unwrap();
            directory
        });
        let mut nets = runs.nets().unwrap();
        nets.sort_unstable();
        assert_eq!(nets, [96, 98]);
        let path = first.path().to_owned();
        drop(first);
        until_released(&path).unwrap();
        assert_eq!(runs.nets().unwrap(), [98]);
        drop(second);
    }

    #[test]
    fn take_turn_removes_unheld_directories_only() {
        let (_root, cache) = cache();
        let dead = RunDirs::take_turn(&cache).unwrap().create("kube", Lifetime::Owned).unwrap();
        let alive = RunDirs::take_turn(&cache).unwrap().create("kube", Lifetime::Owned).unwrap();
        let path = dead.path().to_owned();
        drop(dead);
        until_released(&path).unwrap();
        drop(RunDirs::take_turn(&cache).unwrap());
        assert!(!path.exists());
        assert!(alive.path().exists());
    }

    #[test]
    fn create_of_held_named_directory_fails() {
        let (_root, cache) = cache();
        let runs = RunDirs::take_turn(&cache).unwrap();
        let _held = runs.create("kube", Lifetime::Detached).unwrap();
        let error = runs.create("kube", Lifetime::Detached).unwrap_err();
        assert!(error.to_string().starts_with("kube is already running in "));
    }

    #[test]
    fn take_turn_keeps_other_directories() {
        let (root, cache) = cache();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join(LOCK), "").unwrap();
        let run = root.path().join("run");
        fs::create_dir_all(run.join("empty")).unwrap();
        fs::create_dir_all(run.join("kube/notes")).unwrap();
        std::os::unix::fs::symlink(outside.path(), run.join("link")).unwrap();
        let runs = RunDirs::take_turn(&cache).unwrap();
        assert!(!run.join("empty").exists());
        assert!(run.join("kube/notes").exists());
        assert!(outside.path().join(LOCK).exists());
        let error = runs.create("kube", Lifetime::Detached).unwrap_err().to_string();
        assert!(
            error
                .ends_with("run/kube does not belong to the testbed; move it to another directory")
        );
    }

    #[test]
    fn remove_unheld_continues_after_an_error() {
        let (_root, cache) = cache();
        let runs = RunDirs::take_turn(&cache).unwrap();
        let paths = [(); 3].map(|()| {
            let directory = runs.create("kube", Lifetime::Owned).unwrap();
            let path = directory.path().to_owned();
            drop(directory);
            until_released(&path).unwrap();
            path
        });
        let left = || paths.iter().filter(|path| path.exists()).collect::<Vec<_>>();
        let failing = |path: &Path| {
            anyhow::ensure!(path != paths[1], "cannot remove");
            remove_all(path, Duration::ZERO)
        };
        runs.remove_unheld(failing).unwrap();
        assert_eq!(left(), [&paths[1]]);
        drop(runs);
        RunDirs::take_turn(&cache).unwrap();
        assert!(left().is_empty());
    }
}
