//! The directory outside the checkout in which builds and running components live.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::kube::build::{RECIPE, VERSION};

/// The cache directory.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$FAIRWAY_CACHE`, else `$XDG_CACHE_HOME/fairway`, else `~/.cache/fairway`.
    pub fn from_env() -> Result<Self> {
        let root = root_from(|name| std::env::var_os(name).map(PathBuf::from)).context(
            "no place for the cache: set FAIRWAY_CACHE to a directory with 6 GB of free space",
        )?;
        Ok(Self { root })
    }

    /// A cache in a given directory.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where the built Kubernetes lives.
    pub fn kube(&self) -> PathBuf {
        self.root.join(format!("kube-{VERSION}-{RECIPE}"))
    }

    /// Where each running component has a directory.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// A path in the cache, whose directory exists.
    pub(crate) fn root(&self) -> Result<&Path> {
        fs::create_dir_all(&self.root)
            .with_context(|| format!("cannot create the cache {}", self.root.display()))?;
        Ok(&self.root)
    }
}

fn root_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
    set("FAIRWAY_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("fairway")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/fairway")))
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
    fn a_lock_excludes_until_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = lock(&path).unwrap();
        assert!(try_lock(&path).unwrap().is_none());
        drop(held);
        // Other tests start processes, which share this one's files for a moment.
        crate::wait::until("the lock", std::time::Duration::from_secs(5), || try_lock(&path))
            .unwrap();
    }
}
