//! Parent of all results directories.

use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{AtFlags, Dir, Gid, Mode, OFlags};
use rustix::io::Errno;

use super::run_directory::RunDirectory;
use crate::stage::preflight::deployment::RunId;

/// Parent of all results directories. Only the operator has access.
#[derive(Clone, Debug)]
pub(super) struct ResultsRoot(PathBuf);

impl ResultsRoot {
    pub(super) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Creates the directory of a run.
    pub(super) fn make(&self, run: &RunId) -> io::Result<RunDirectory> {
        fs::create_dir_all(&self.0)?;
        let root = open_directory(&self.0)?;
        rustix::fs::mkdirat(&root, run.as_str(), Mode::RWXU)?;
        share(&root, run.as_str())?;
        self.open(run)
    }

    /// Opens the directory of a resumed run.
    pub(super) fn open(&self, run: &RunId) -> io::Result<RunDirectory> {
        let root = open_directory(&self.0)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&root, run.as_str(), flags, Mode::empty())?;
        Ok(RunDirectory::new(opened))
    }

    /// Removes the directories of all runs but one. Continues after errors and returns the first
    /// one.
    pub(super) fn remove_others(&self, keep: Option<&RunId>) -> io::Result<()> {
        let root = match open_directory(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let is_over = |name: &CString| {
            let run = name.to_str().ok().and_then(RunId::parse);
            run.is_some() && run.as_ref() != keep
        };
        let over = names(&root)?.into_iter().filter(is_over).collect();
        remove_each(over, |name| remove(&root, &name))
    }
}

/// Gives the group of runs write access to a directory. The operator stays the owner, so that a run
/// cannot withdraw access to it, and the operator can remove its files.
fn share(root: &OwnedFd, name: &str) -> io::Result<()> {
    let (group, flags) = (Gid::from_raw(RUNNER_GID), AtFlags::SYMLINK_NOFOLLOW);
    match rustix::fs::chownat(root, name, None, Some(group), flags) {
        // A sandbox without root has a single user, so that the run is this user as well.
        Err(Errno::INVAL) => return Ok(()),
        // The operator is not in the group: it is a process outside of a cluster, or its Deployment
        // is older than the group.
        Err(Errno::PERM) => {
            tracing::warn!(group = RUNNER_GID, "cannot share results directory with group");
            return Ok(());
        }
        shared => shared?,
    }
    // Files of the run belong to the group of the directory.
    let mode = Mode::RWXU | Mode::RWXG | Mode::SGID;
    Ok(rustix::fs::chmodat(root, name, mode, AtFlags::empty())?)
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Entries of a directory.
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

/// Removes all entries, and those that removals add. Continues after errors and returns the first
/// one.
fn remove_each<T>(
    mut over: Vec<T>,
    mut remove: impl FnMut(T) -> io::Result<Vec<T>>,
) -> io::Result<()> {
    let mut first = Ok(());
    while let Some(one) = over.pop() {
        match remove(one) {
            Ok(more) => over.extend(more),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

/// Removes a run's directory without following links. Subdirectories are moved to the root and
/// removed like runs, so that no nesting exceeds path or stack limits.
fn remove(root: &OwnedFd, run: &CStr) -> io::Result<Vec<CString>> {
    let mut moved = Vec::new();
    if is_unlinked(root, run)? {
        return Ok(moved);
    }
    let directory = reopen(root, run)?;
    for inside in names(&directory)? {
        if is_unlinked(&directory, &inside)? {
            continue;
        }
        // Moving a directory requires write access to it.
        reopen(&directory, &inside)?;
        let name = CString::new(RunId::random()?.to_string())?;
        rustix::fs::renameat(&directory, &inside, root, &name)?;
        moved.push(name);
    }
    rustix::fs::unlinkat(root, run, AtFlags::REMOVEDIR)?;
    Ok(moved)
}

/// Removes an entry that is not a directory. Returns whether it is gone.
fn is_unlinked(parent: &OwnedFd, name: &CStr) -> io::Result<bool> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Opens a directory, even if the run removed its permissions. A subdirectory that belongs to the
/// run fails, unless the operator is root: `fairway prepare-results` takes it over at the next start.
fn reopen(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = rustix::fs::openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
    // `fchmod` rejects `O_PATH` descriptors, and `chmod` by name could follow a link.
    rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)?;
    Ok(rustix::fs::openat(&place, c".", flags | OFlags::RDONLY, Mode::empty())?)
}

/// Name of the results file.
pub(super) const RESULT_FILE: &str = "result.json";

/// User ID of the target release: not that of the operator (65532), of checks (65531), or of any
/// file on the node.
pub(super) const RUNNER_UID: u32 = 65530;

/// Group ID of the target release and of results directories. The operator is a member.
pub(super) const RUNNER_GID: u32 = 65530;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn run(digit: &str) -> RunId {
        RunId::parse(&digit.repeat(32)).unwrap()
    }

    #[test]
    fn make_creates_directory_that_remove_others_deletes() {
        let temporary = tempfile::tempdir().unwrap();
        let root = ResultsRoot::new(temporary.path().join("below"));
        root.make(&run("1")).unwrap();
        root.make(&run("2")).unwrap();
        assert!(root.make(&run("1")).is_err(), "exists already");
        root.remove_others(Some(&run("2"))).unwrap();
        assert!(root.open(&run("1")).is_err());
        assert!(root.open(&run("2")).is_ok());
        root.remove_others(None).unwrap();
        assert!(root.open(&run("2")).is_err());
    }

    #[test]
    fn make_shares_directory_with_group_of_runs() {
        use std::os::unix::fs::MetadataExt as _;
        let temporary = tempfile::tempdir().unwrap();
        ResultsRoot::new(temporary.path()).make(&run("1")).unwrap();
        let found = fs::metadata(temporary.path().join(run("1").as_str())).unwrap();
        let owner = rustix::process::geteuid();
        assert_eq!(found.uid(), owner.as_raw(), "a run must not own it");
        let (mode, group) = (found.mode() & 0o7777, found.gid());
        if owner.is_root() {
            assert_eq!((mode, group), (0o2770, RUNNER_GID));
        } else {
            assert_eq!(mode & 0o007, 0);
        }
    }

    #[test]
    fn remove_others_ignores_other_files() {
        let temporary = tempfile::tempdir().unwrap();
        let root = ResultsRoot::new(temporary.path());
        fs::write(temporary.path().join("README"), "").unwrap();
        root.remove_others(None).unwrap();
        assert!(temporary.path().join("README").exists());
        assert!(ResultsRoot::new("/nonexistent/preflight").remove_others(None).is_ok());
    }

    #[test]
    fn remove_others_follows_no_links() {
        let temporary = tempfile::tempdir().unwrap();
        let (runs, precious) = (temporary.path().join("runs"), temporary.path().join("precious"));
        fs::create_dir_all(&precious).unwrap();
        fs::write(precious.join("file"), "").unwrap();
        let root = ResultsRoot::new(&runs);
        root.make(&run("1")).unwrap();
        let inside = runs.join(run("1").as_str());
        symlink(&precious, inside.join("link")).unwrap();
        fs::create_dir_all(inside.join("a/b/c")).unwrap();
        fs::write(inside.join("a/b/file"), "").unwrap();
        // A link in place of a run's directory.
        symlink(&precious, runs.join(run("2").as_str())).unwrap();
        assert!(root.open(&run("2")).is_err());
        root.remove_others(None).unwrap();
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 0);
        assert!(precious.join("file").exists());
    }

    #[test]
    fn remove_others_handles_depth_and_missing_permissions() {
        let temporary = tempfile::tempdir().unwrap();
        let root = ResultsRoot::new(temporary.path());
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
    fn remove_each_continues_after_error() {
        let mut removed = Vec::new();
        let result = remove_each(vec![1, 2, 3], |number| match number {
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
