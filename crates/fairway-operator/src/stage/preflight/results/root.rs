//! The directory of all runs.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::{RUNNER, RunDirectory};
use crate::stage::preflight::run_id::RunId;

/// How deep directories are followed when a run is removed. A run has none: who made deeper ones
/// wants to keep the operator busy.
const DEPTH: usize = 16;

/// The directory of all runs, which only the operator sees.
#[derive(Clone, Debug)]
pub(in crate::stage::preflight) struct Root(PathBuf);

impl Root {
    pub(in crate::stage::preflight) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Makes the directory of a run.
    pub(in crate::stage::preflight) fn make(&self, run: &RunId) -> io::Result<RunDirectory> {
        fs::create_dir_all(&self.0)?;
        let root = open_directory(&self.0)?;
        rustix::fs::mkdirat(&root, run.as_str(), Mode::RWXU)?;
        // A superuser makes it for the user of the run; anybody else is that user.
        if rustix::process::geteuid().is_root() {
            let (user, group) = (Uid::from_raw(RUNNER), Gid::from_raw(RUNNER));
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            rustix::fs::chownat(&root, run.as_str(), Some(user), Some(group), flags)?;
        }
        self.open(run)
    }

    /// Opens that of a run that an operator before this one has made.
    pub(in crate::stage::preflight) fn open(&self, run: &RunId) -> io::Result<RunDirectory> {
        let root = open_directory(&self.0)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&root, run.as_str(), flags, Mode::empty())?;
        Ok(RunDirectory::new(opened))
    }

    /// Removes the directories of all runs but one.
    pub(in crate::stage::preflight) fn remove_others(
        &self,
        keep: Option<&RunId>,
    ) -> io::Result<()> {
        let root = match open_directory(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        for name in names(&root)? {
            let run = name.to_str().ok().and_then(RunId::parse);
            if run.is_some() && run.as_ref() != keep {
                remove(&root, &name, DEPTH)?;
            }
        }
        Ok(())
    }
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// What is in a directory.
fn names(directory: &OwnedFd) -> io::Result<Vec<std::ffi::CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

/// Removes something and all that is in it, and follows no link.
fn remove(parent: &OwnedFd, name: &std::ffi::CStr, depth: usize) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) if depth > 0 => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
    for inside in names(&directory)? {
        remove(&directory, &inside, depth - 1)?;
    }
    Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn run(digit: &str) -> RunId {
        RunId::parse(&digit.repeat(32)).unwrap()
    }

    #[test]
    fn a_directory_of_a_run_is_new_and_goes_with_it() {
        let temporary = tempfile::tempdir().unwrap();
        let root = Root::new(temporary.path().join("below"));
        root.make(&run("1")).unwrap();
        root.make(&run("2")).unwrap();
        assert!(root.make(&run("1")).is_err(), "a run begins once");
        root.remove_others(Some(&run("2"))).unwrap();
        assert!(root.open(&run("1")).is_err());
        assert!(root.open(&run("2")).is_ok());
        root.remove_others(None).unwrap();
        assert!(root.open(&run("2")).is_err());
    }

    #[test]
    fn what_is_no_run_stays() {
        let temporary = tempfile::tempdir().unwrap();
        let root = Root::new(temporary.path());
        fs::write(temporary.path().join("README"), "").unwrap();
        root.remove_others(None).unwrap();
        assert!(temporary.path().join("README").exists());
        assert!(Root::new("/nonexistent/preflight").remove_others(None).is_ok());
    }

    #[test]
    fn removing_follows_no_link() {
        let temporary = tempfile::tempdir().unwrap();
        let (runs, precious) = (temporary.path().join("runs"), temporary.path().join("precious"));
        fs::create_dir_all(&precious).unwrap();
        fs::write(precious.join("file"), "").unwrap();
        let root = Root::new(&runs);
        root.make(&run("1")).unwrap();
        let inside = runs.join(run("1").as_str());
        symlink(&precious, inside.join("link")).unwrap();
        fs::create_dir_all(inside.join("a/b/c")).unwrap();
        fs::write(inside.join("a/b/file"), "").unwrap();
        // A link in place of a whole run, too.
        symlink(&precious, runs.join(run("2").as_str())).unwrap();
        assert!(root.open(&run("2")).is_err());
        root.remove_others(None).unwrap();
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 0);
        assert!(precious.join("file").exists());
    }

    #[test]
    fn a_bottomless_directory_does_not_keep_the_operator_busy() {
        let temporary = tempfile::tempdir().unwrap();
        let root = Root::new(temporary.path());
        root.make(&run("1")).unwrap();
        let deep = temporary.path().join(run("1").as_str()).join("a/".repeat(DEPTH + 1));
        fs::create_dir_all(deep).unwrap();
        assert!(root.remove_others(None).is_err());
    }
}
