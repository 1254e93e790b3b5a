//! The directory outside of the checkout with builds and run directories.

use std::fs::{self, DirEntry, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::kube::build::{self, RECIPE, VERSION};
use crate::wait;

/// The file that marks the directory as a cache of the testbed: <https://bford.info/cachedir/>.
const TAG: &str = "CACHEDIR.TAG";
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
                        # This directory holds what the testbed of Fairway builds and runs.\n\
                        # What is left behind in it gets removed.\n";

/// The directory with the run directories.
const RUN: &str = "run";
/// The lock of the process that builds Kubernetes.
const BUILD_LOCK: &str = "build.lock";
/// Prefix of the directory of a built Kubernetes.
const KUBE: &str = "kube-";

/// The cache directory.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$FAIRWAY_CACHE`, else `$XDG_CACHE_HOME/fairway`, else `~/.cache/fairway`.
    pub fn from_env() -> Result<Self> {
        let root = root_from(|name| std::env::var_os(name).map(PathBuf::from)).context(
            "no cache directory: set FAIRWAY_CACHE to a directory with 6 GB of free space",
        )?;
        Ok(Self::at(root))
    }

    /// A cache in a given directory.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        // Services run with another current directory. An empty path remains: nothing can be created
        // there.
        let root = std::path::absolute(&root).unwrap_or(root);
        Self { root }
    }

    /// The directory of the built Kubernetes.
    pub fn kube(&self) -> PathBuf {
        self.root.join(format!("{KUBE}{VERSION}-{RECIPE}"))
    }

    /// The directory with a directory for each running service.
    pub fn run(&self) -> PathBuf {
        self.root.join(RUN)
    }

    /// Creates the directory and checks that it belongs to the testbed. Callers that write or delete in
    /// it get its path here.
    pub(crate) fn root(&self) -> Result<&Path> {
        claim(&self.root)
            .with_context(|| format!("cannot use the cache {}", self.root.display()))?;
        Ok(&self.root)
    }

    /// Waits until no other process builds.
    pub(crate) fn lock_builds(&self) -> Result<File> {
        lock(&self.root()?.join(BUILD_LOCK))
    }
}

/// Marks a directory as a cache if it is new or empty, or is a cache without the tag.
fn claim(root: &Path) -> Result<()> {
    fs::create_dir_all(root)?;
    let tag = root.join(TAG);
    if fs::read(&tag).is_ok_and(|text| text == TAG_TEXT.as_bytes()) {
        return Ok(());
    }
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if !belongs_to_testbed(&entry) {
            bail!(
                "it contains {}, which does not belong to the testbed; set FAIRWAY_CACHE to an \
                empty or new directory",
                entry.file_name().display()
            );
        }
    }
    Ok(fs::write(tag, TAG_TEXT)?)
}

fn belongs_to_testbed(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    match &*name {
        RUN | BUILD_LOCK => true,
        // Another process may be writing it.
        TAG => fs::read(entry.path()).is_ok_and(|text| TAG_TEXT.as_bytes().starts_with(&text)),
        _ => name.starts_with(KUBE) || name.starts_with(build::SCRATCH),
    }
}

fn root_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
    set("FAIRWAY_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("fairway")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/fairway")))
}

/// Waits until no other process holds the lock of a name. The kernel releases the lock with the last
/// open file, also after a crash.
pub fn take_turn(cache: &Cache, name: &str, timeout: Duration) -> Result<File> {
    let path = cache.root()?.join(format!("{name}.lock"));
    until_locked(&path, timeout)
}

/// [`lock`] with a timeout.
pub(crate) fn until_locked(path: &Path, timeout: Duration) -> Result<File> {
    let what = format!("the lock {}, which another process holds", path.display());
    wait::until(&what, timeout, || try_lock(path))
}

/// Opens a lock file and waits until no other process holds it. The kernel releases the lock with the
/// last open file, also after a crash.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let file = open_lock(path)?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// [`lock`] without waiting. Returns `None` if another process holds the lock.
pub(crate) fn try_lock(path: &Path) -> Result<Option<File>> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

fn open_lock(path: &Path) -> Result<File> {
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot open the lock {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(variables: &[(&str, &str)]) -> Option<PathBuf> {
        root_from(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value))
        })
    }

    #[test]
    fn root_from_several_variables_is_the_most_specific() {
        let home = ("HOME", "/home/me");
        assert_eq!(root(&[home]).unwrap(), Path::new("/home/me/.cache/fairway"));
        assert_eq!(root(&[home, ("XDG_CACHE_HOME", "/c")]).unwrap(), Path::new("/c/fairway"));
        assert_eq!(root(&[home, ("FAIRWAY_CACHE", "/f")]).unwrap(), Path::new("/f"));
        assert_eq!(
            root(&[("FAIRWAY_CACHE", ""), home]).unwrap(),
            Path::new("/home/me/.cache/fairway")
        );
        assert_eq!(root(&[]), None);
    }

    #[test]
    fn at_relative_path_is_absolute() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(Cache::at("cache").run(), here.join("cache/run"));
    }

    #[test]
    fn root_of_new_directory_is_tagged() {
        let parent = tempfile::tempdir().unwrap();
        let cache = Cache::at(parent.path().join("a/b"));
        let root = cache.root().unwrap();
        let tag = fs::read_to_string(root.join("CACHEDIR.TAG")).unwrap();
        assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
        fs::write(root.join("notes"), "").unwrap();
        cache.root().unwrap();
    }

    #[test]
    fn root_of_untagged_cache_is_tagged() {
        let root = tempfile::tempdir().unwrap();
        for name in ["run", "kube-1.20.2-2", "building-x"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        fs::write(root.path().join("build.lock"), "").unwrap();
        Cache::at(root.path()).root().unwrap();
        assert!(root.path().join("CACHEDIR.TAG").exists());
    }

    #[test]
    fn root_of_other_directory_is_refused() {
        let notes = ("notes", "mine");
        let other_tag = ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# x\n");
        for (name, text) in [notes, other_tag] {
            let root = tempfile::tempdir().unwrap();
            fs::write(root.path().join(name), text).unwrap();
            let error = Cache::at(root.path()).root().unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(&format!("it contains {name}, which")), "{error}");
            assert!(error.contains("set FAIRWAY_CACHE to an empty or new directory"), "{error}");
            assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
            assert_eq!(fs::read_to_string(root.path().join(name)).unwrap(), text);
        }
    }

    #[test]
    fn take_turn_is_exclusive_for_each_name() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        let _held = take_turn(&cache, "tests", Duration::ZERO).unwrap();
        let error = take_turn(&cache, "tests", Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("tests.lock, which another process holds"), "{error}");
        take_turn(&cache, "benches", Duration::ZERO).unwrap();
    }

    #[test]
    fn lock_is_exclusive_until_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = lock(&path).unwrap();
        assert!(try_lock(&path).unwrap().is_none());
        drop(held);
        // Processes that other tests fork hold the open file until they exec.
        until_locked(&path, Duration::from_secs(5)).unwrap();
    }
}
