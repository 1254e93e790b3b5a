//! The directories of running components, one each, that a dead owner's successor sweeps.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cache::{self, Cache};
use crate::cgroup::Group;
use crate::{mount_point, wait};

/// Others hold the lock while they sweep and choose, which takes a fraction of a second each.
const TURN: Duration = Duration::from_mins(1);

/// The kernel releases a lock, and a control group, with the last process that holds it.
pub(crate) const RELEASE: Duration = Duration::from_secs(10);
/// What others left may cost less: the next turn tries again.
const RELEASE_OF_OTHERS: Duration = Duration::from_secs(1);

/// What is held as long as the directory is used. It tells a directory that was made here from any
/// other, so it is made first and removed last.
const LOCK: &str = "lock";
/// Holds the second number of a cluster's network, 127.N.0.0/24.
const NET: &str = "net";
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
        cache.root()?;
        let root = cache.run();
        fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;
        let turn = cache::until_locked(&root.join(LOCK), TURN)?;
        let runs = Self { root, _turn: turn };
        runs.sweep_unheld(|path| sweep(path, RELEASE_OF_OTHERS))?;
        Ok(runs)
    }

    fn sweep_unheld(&self, sweep: impl Fn(&Path) -> Result<()>) -> Result<()> {
        for path in self.all()?.iter().filter(|path| !is_held(path)) {
            // One that resists is no reason to start nothing; the next turn tries again.
            sweep(path).ok();
        }
        Ok(())
    }

    /// A new directory: named after its kind if it is to be found again, else at random.
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
        sweep(&path, RELEASE)?;
        // Private keys live here.
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }

    /// Removes a named directory unless something holds it.
    pub(crate) fn remove(&self, kind: &str) -> Result<()> {
        let path = self.root.join(kind);
        if is_held(&path) { Ok(()) } else { sweep(&path, RELEASE) }
    }

    /// The networks of the clusters that run.
    pub(crate) fn nets(&self) -> Result<Vec<u8>> {
        let all = self.all()?;
        Ok(all.iter().filter(|path| is_held(path)).filter_map(|path| net_of(path)).collect())
    }

    /// Every directory, whoever made it; links are not followed.
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

    /// Reserves a network as long as the directory is held.
    pub(crate) fn reserve_net(&self, net: u8) -> Result<()> {
        Ok(fs::write(self.join(NET), net.to_string())?)
    }

    /// Creates the root of a cluster's control groups, which goes with the directory. Its name.
    pub(crate) fn create_cgroup(&self) -> Result<String> {
        let group = Group::of(&self.path)?;
        group.create()?;
        Ok(group.name().to_owned())
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
    let lock = path.join(LOCK);
    if !lock.exists() {
        return false;
    }
    match cache::try_lock(&lock) {
        // At once, even if a process that this one is just starting shares the file.
        Ok(Some(file)) => file.unlock().is_err(),
        _ => true,
    }
}

/// Waits until nothing holds the directory. A process that this one is just starting shares its
/// files, and so its locks, for a moment.
pub(crate) fn until_released(path: &Path) -> Result<()> {
    wait::until(&format!("{} to be released", path.display()), RELEASE, || {
        Ok((!is_held(path)).then_some(()))
    })
}

/// Removes a directory that nothing holds any more, and what was created elsewhere for it. One
/// without a lock was not made here, and goes only if it is empty.
pub(crate) fn sweep(path: &Path, patience: Duration) -> Result<()> {
    if !path.join(LOCK).is_file() {
        return remove_empty(path);
    }
    Group::of(path)?.remove(patience)?;
    for path in fs::read_to_string(path.join(MOUNT_POINTS)).unwrap_or_default().lines() {
        mount_point::remove(Path::new(path));
    }
    remove(path).with_context(|| format!("cannot remove {}", path.display()))
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

/// Removes the lock last, by which the next turn knows what this one could not remove.
fn remove(path: &Path) -> io::Result<()> {
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
    fn networks_are_taken_as_long_as_their_owners_live() {
        let (_root, cache) = cache();
        let runs = Runs::take_turn(&cache).unwrap();
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
        assert!(error.to_string().starts_with("kube is already running in "));
    }

    #[test]
    fn what_was_not_made_here_stays() {
        let (root, cache) = cache();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join(LOCK), "").unwrap();
        let run = root.path().join("run");
        fs::create_dir_all(run.join("empty")).unwrap();
        fs::create_dir_all(run.join("kube/notes")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), run.join("link")).unwrap();
        let runs = Runs::take_turn(&cache).unwrap();
        assert!(!run.join("empty").exists());
        assert!(run.join("kube/notes").exists());
        assert!(elsewhere.path().join(LOCK).exists());
        let error = runs.create("kube", Lifetime::Detached).unwrap_err().to_string();
        assert!(
            error
                .ends_with("run/kube does not belong to the testbed; move it to another directory")
        );
    }

    #[test]
    fn one_directory_that_resists_does_not_keep_the_others() {
        let (_root, cache) = cache();
        let runs = Runs::take_turn(&cache).unwrap();
        let paths = [(); 3].map(|()| {
            let directory = runs.create("kube", Lifetime::Owned).unwrap();
            let path = directory.path().to_owned();
            drop(directory);
            until_released(&path).unwrap();
            path
        });
        let left = || paths.iter().filter(|path| path.exists()).collect::<Vec<_>>();
        let resists = |path: &Path| {
            anyhow::ensure!(path != paths[1], "it resists");
            sweep(path, Duration::ZERO)
        };
        runs.sweep_unheld(resists).unwrap();
        assert_eq!(left(), [&paths[1]]);
        drop(runs);
        Runs::take_turn(&cache).unwrap();
        assert!(left().is_empty());
    }
}
