//! The directory of all runs.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;

use super::{RUNNER, RunDirectory};
use crate::stage::preflight::run_id::RunId;

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

    /// Removes the directories of all runs but one, as far as that can be done.
    pub(in crate::stage::preflight) fn remove_others(
        &self,
        keep: Option<&RunId>,
    ) -> io::Result<()> {
        let root = match open_directory(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let is_over = |name: &CString| {
            let run = name.to_str().ok().and_then(RunId::parse);
            run.is_some() && run.as_ref() != keep
        };
        let over = names(&root)?.into_iter().filter(is_over).collect();
        each(over, |name| remove(&root, &name))
    }
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// What is in a directory.
fn names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

/// Removes one after the other, with what turns up on the way. One that stays does not keep the
/// others; the first error is told.
fn each<T>(mut over: Vec<T>, mut remove: impl FnMut(T) -> io::Result<Vec<T>>) -> io::Result<()> {
    let mut first = Ok(());
    while let Some(one) = over.pop() {
        match remove(one) {
            Ok(more) => over.extend(more),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

/// Removes a run, and follows no link. Directories in it, of which a run has none, become runs of
/// their own that are over: so no depth is too deep, and none is forgotten.
fn remove(root: &OwnedFd, run: &CStr) -> io::Result<Vec<CString>> {
    let mut lifted = Vec::new();
    if is_unlinked(root, run)? {
        return Ok(lifted);
    }
    let directory = reopen(root, run)?;
    for inside in names(&directory)? {
        if is_unlinked(&directory, &inside)? {
            continue;
        }
        // Whoever moves a directory has to be allowed to write to it.
        reopen(&directory, &inside)?;
        let name = CString::new(RunId::random()?.to_string())?;
        rustix::fs::renameat(&directory, &inside, root, &name)?;
        lifted.push(name);
    }
    rustix::fs::unlinkat(root, run, AtFlags::REMOVEDIR)?;
    Ok(lifted)
}

/// Removes whatever is not a directory.
fn is_unlinked(parent: &OwnedFd, name: &CStr) -> io::Result<bool> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory, also one that the run has shut: the operator is the same user, and may open
/// it again.
fn reopen(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = rustix::fs::openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
    // There is no other way to change what is surely no link.
    rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
    Ok(rustix::fs::openat(&place, c".", flags | OFlags::RDONLY, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

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
    fn neither_depth_nor_a_shut_door_keeps_a_directory() {
        let temporary = tempfile::tempdir().unwrap();
        let root = Root::new(temporary.path());
        root.make(&run("1")).unwrap();
        let inside = temporary.path().join(run("1").as_str());
        fs::create_dir_all(inside.join("a/".repeat(1000)).join("b")).unwrap();
        fs::create_dir_all(inside.join("c/d/e")).unwrap();
        for shut in ["c/d", "c", "."] {
            fs::set_permissions(inside.join(shut), fs::Permissions::from_mode(0o0)).unwrap();
        }
        root.remove_others(None).unwrap();
        assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_that_stays_does_not_keep_the_others() {
        let mut removed = Vec::new();
        let result = each(vec![1, 2, 3], |number| match number {
            2 => Err(io::Error::other("it stays")),
            3 => Ok(vec![30]),
            other => {
                removed.push(other);
                Ok(Vec::new())
            }
        });
        assert_eq!(removed, [30, 1]);
        assert_eq!(result.unwrap_err().to_string(), "it stays");
    }
}
