//! The directory outside the checkout in which builds and running components live.

use std::fs::{self, DirEntry, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::kube::build::{self, RECIPE, VERSION};
use crate::wait;

/// The file by which backups and cleaners know a cache, and the testbed its own:
/// <https://bford.info/cachedir/>.
const TAG: &str = "CACHEDIR.TAG";
const TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
                        # This directory holds what the testbed of Fairway builds and runs.\n\
                        # What is left behind in it gets removed.\n";

/// The directory of running components.
const RUN: &str = "run";
/// Held by whoever builds Kubernetes.
const BUILD_LOCK: &str = "build.lock";
/// What the name of a built Kubernetes begins with.
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
        // What runs in a cell has another current directory. An empty path stays as it is:
        // nothing can be created there.
        let root = std::path::absolute(&root).unwrap_or(root);
        Self { root }
    }

    /// Where the built Kubernetes lives.
    pub fn kube(&self) -> PathBuf {
        self.root.join(format!("{KUBE}{VERSION}-{RECIPE}"))
    }

    /// Where each running component has a directory.
    pub fn run(&self) -> PathBuf {
        self.root.join(RUN)
    }

    /// The directory, which exists and holds nothing that is not the testbed's: whoever is about
    /// to add to it or to sweep it asks here for its path.
    pub(crate) fn root(&self) -> Result<&Path> {
        claim(&self.root)
            .with_context(|| format!("cannot use the cache {}", self.root.display()))?;
        Ok(&self.root)
    }

    /// Waits until nobody else builds.
    pub(crate) fn lock_builds(&self) -> Result<File> {
        lock(&self.root()?.join(BUILD_LOCK))
    }
}

/// Makes a directory a cache, unless it is one: a new or empty one, or one from before there was
/// a tag.
fn claim(root: &Path) -> Result<()> {
    fs::create_dir_all(root)?;
    let tag = root.join(TAG);
    if fs::read(&tag).is_ok_and(|text| text == TAG_TEXT.as_bytes()) {
        return Ok(());
    }
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        if !is_ours(&entry) {
            bail!(
                "it contains {}, which does not belong to the testbed; set FAIRWAY_CACHE to an \
                empty or new directory",
                entry.file_name().display()
            );
        }
    }
    Ok(fs::write(tag, TAG_TEXT)?)
}

fn is_ours(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    match &*name {
        RUN | BUILD_LOCK => true,
        // Another process may be writing it just now.
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

/// Waits until no other process of this cache has the turn of that name, but no longer than
/// `patience`. The turn ends with the last holder of the file, so a crashed holder keeps none.
pub fn take_turn(cache: &Cache, name: &str, patience: Duration) -> Result<File> {
    let path = cache.root()?.join(format!("{name}.lock"));
    until_locked(&path, patience)
}

/// Like [`lock`], with an end to the wait.
pub(crate) fn until_locked(path: &Path, patience: Duration) -> Result<File> {
    let what = format!("the lock {}, which another process holds", path.display());
    wait::until(&what, patience, || try_lock(path))
}

/// Opens a lock file and waits until nobody else holds it. The lock ends with the last holder of
/// the file, so a crashed holder leaves none.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let file = open_lock(path)?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// Like [`lock`], but `None` if somebody holds it.
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
    fn the_most_specific_variable_wins() {
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
    fn a_relative_cache_stays_where_it_was() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(Cache::at("cache").run(), here.join("cache/run"));
    }

    #[test]
    fn a_new_directory_becomes_a_cache_and_stays_one() {
        let parent = tempfile::tempdir().unwrap();
        let cache = Cache::at(parent.path().join("a/b"));
        let root = cache.root().unwrap();
        let tag = fs::read_to_string(root.join("CACHEDIR.TAG")).unwrap();
        assert!(tag.starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
        fs::write(root.join("notes"), "").unwrap();
        cache.root().unwrap();
    }

    #[test]
    fn a_cache_from_before_the_tag_is_adopted() {
        let root = tempfile::tempdir().unwrap();
        for name in ["run", "kube-1.20.2-2", "building-x"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        fs::write(root.path().join("build.lock"), "").unwrap();
        Cache::at(root.path()).root().unwrap();
        assert!(root.path().join("CACHEDIR.TAG").exists());
    }

    #[test]
    fn a_directory_of_somebody_else_is_refused() {
        let notes = ("notes", "mine");
        let tag_of_another = ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n# x\n");
        for (name, text) in [notes, tag_of_another] {
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
    fn a_turn_is_taken_by_one_at_a_time_and_by_name() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        let _held = take_turn(&cache, "tests", Duration::ZERO).unwrap();
        let error = take_turn(&cache, "tests", Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("tests.lock, which another process holds"), "{error}");
        take_turn(&cache, "benches", Duration::ZERO).unwrap();
    }

    #[test]
    fn a_lock_excludes_until_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = lock(&path).unwrap();
        assert!(try_lock(&path).unwrap().is_none());
        drop(held);
        // Other tests start processes, which share this one's files for a moment.
        until_locked(&path, Duration::from_secs(5)).unwrap();
    }
}
