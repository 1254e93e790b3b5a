//! A directory for untrusted paths.
//!
//! The kernel resolves every path with the directory as root (`RESOLVE_IN_ROOT`), so links of
//! earlier entries cannot escape. The last component is never followed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

/// Permission bits of files, without setuid and setgid: nothing in the sandbox may gain privileges.
const FILE_BITS: u32 = 0o777;
/// Permission bits of directories, with the sticky bit of `/tmp`.
const DIRECTORY_BITS: u32 = 0o1777;

pub(super) struct Tree {
    root: OwnedFd,
    is_superuser: bool,
}

impl Tree {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        let is_superuser = rustix::process::geteuid().is_root();
        Ok(Self { root, is_superuser })
    }

    pub(super) fn directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        let (parent, name) = self.create_parent(path)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
            Err(Errno::EXIST) if is_directory(&parent, name)? => {}
            Err(Errno::EXIST) => {
                rustix::fs::unlinkat(&parent, name, AtFlags::empty())?;
                rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
            }
            outcome => outcome?,
        }
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = rustix::fs::openat(&parent, name, flags, Mode::empty())?;
        rustix::fs::fchmod(&directory, self.directory_mode(mode))?;
        Ok(())
    }

    pub(super) fn file(&self, path: &Path, mode: u32) -> io::Result<File> {
        let (parent, name) = self.create_parent(path)?;
        clear(&parent, name)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o600))?;
        rustix::fs::fchmod(&file, self.file_mode(mode))?;
        Ok(file.into())
    }

    pub(super) fn symlink(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (parent, name) = self.create_parent(path)?;
        clear(&parent, name)?;
        Ok(rustix::fs::symlinkat(target, &parent, name)?)
    }

    pub(super) fn hard_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (target_parent, target_name) = self.open_parent(target)?.ok_or(Errno::NOENT)?;
        let (parent, name) = self.create_parent(path)?;
        if path != target {
            clear(&parent, name)?;
            // Without AT_SYMLINK_FOLLOW: links to the symbolic link, not to its target.
            let flags = AtFlags::empty();
            rustix::fs::linkat(&target_parent, target_name, &parent, name, flags)?;
        }
        Ok(())
    }

    /// Sets the owner of a new entry, if the process is root. Sets the mode of directories again,
    /// because chown may clear bits.
    pub(super) fn set_owner(
        &self,
        path: &Path,
        user: u32,
        group: u32,
        mode: u32,
    ) -> io::Result<()> {
        if !self.is_superuser || (user, group) == (0, 0) {
            return Ok(());
        }
        let Some((parent, name)) = self.open_parent(path)? else { return Ok(()) };
        let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(&parent, name, Some(user), Some(group), flags)?;
        if is_directory(&parent, name)? {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let directory = rustix::fs::openat(&parent, name, flags, Mode::empty())?;
            rustix::fs::fchmod(&directory, self.directory_mode(mode))?;
        }
        Ok(())
    }

    /// Removes a path recursively; it may be missing.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        match self.open_parent(path)? {
            Some((parent, name)) => clear(&parent, name),
            None => Ok(()),
        }
    }

    /// Removes the content of a directory, except for the paths in `keep` and their parents.
    pub(super) fn empty(&self, path: &Path, keep: &BTreeSet<PathBuf>) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let directory = match self.resolve(path, flags) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            opened => opened?,
        };
        for name in names(&directory)? {
            let below = path.join(&name);
            let mut from_there = keep.range(below.clone()..);
            if from_there.next().is_some_and(|kept| kept.starts_with(&below)) {
                self.empty(&below, keep)?;
            } else {
                clear(&directory, &name)?;
            }
        }
        Ok(())
    }

    /// Opens the parent of a path, creating it if it is missing, and returns the last component.
    fn create_parent<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        match self.resolve(parent, OFlags::PATH | OFlags::DIRECTORY) {
            Err(Errno::NOENT) => self.create_directories(parent)?,
            opened => return Ok((opened?, name)),
        }
        Ok((self.resolve(parent, OFlags::PATH | OFlags::DIRECTORY)?, name))
    }

    /// Creates the directories of a path, the outermost first.
    fn create_directories(&self, path: &Path) -> io::Result<()> {
        let mut above = self.resolve(Path::new(""), OFlags::PATH | OFlags::DIRECTORY)?;
        let mut walked = PathBuf::new();
        for name in path {
            walked.push(name);
            above = match self.resolve(&walked, OFlags::PATH | OFlags::DIRECTORY) {
                Err(Errno::NOENT) => {
                    rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o755))?;
                    self.resolve(&walked, OFlags::PATH | OFlags::DIRECTORY)?
                }
                opened => opened?,
            };
        }
        Ok(())
    }

    fn open_parent<'a>(&self, path: &'a Path) -> io::Result<Option<(OwnedFd, &'a OsStr)>> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        match self.resolve(parent, OFlags::PATH | OFlags::DIRECTORY) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            opened => Ok(Some((opened?, name))),
        }
    }

    /// Opens a path with the directory as root.
    fn resolve(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), inside)
    }

    /// Adds owner permissions for ordinary users, who could not fill a read-only directory.
    fn directory_mode(&self, mode: u32) -> Mode {
        let bits = if self.is_superuser { 0 } else { 0o700 };
        Mode::from_raw_mode((mode & DIRECTORY_BITS) | bits)
    }

    /// Adds read permission for ordinary users, who could not read the file otherwise.
    fn file_mode(&self, mode: u32) -> Mode {
        let bits = if self.is_superuser { 0 } else { 0o400 };
        Mode::from_raw_mode((mode & FILE_BITS) | bits)
    }
}

fn is_directory(parent: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let status = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir())
}

/// Removes an entry of any type.
fn clear(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) => {
            let path = format!("/proc/self/fd/{}", parent.as_raw_fd());
            // `remove_dir_all` does not follow links.
            fs::remove_dir_all(Path::new(&path).join(name))
        }
        Err(error) => Err(error.into()),
    }
}

fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Copies the content of `from` to `to`: new directories, and hard links to files, which need
/// neither time nor space. Symbolic links are not followed.
pub(super) fn share_files(from: &Path, to: &Path) -> io::Result<()> {
    copy_attributes(from, to)?;
    let mut pending = vec![PathBuf::new()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(from.join(&directory))? {
            let entry = entry?;
            let inside = directory.join(entry.file_name());
            let (original, copy) = (entry.path(), to.join(&inside));
            if entry.file_type()?.is_dir() {
                fs::create_dir(&copy)?;
                copy_attributes(&original, &copy)?;
                pending.push(inside);
            } else {
                fs::hard_link(&original, &copy)?;
            }
        }
    }
    Ok(())
}

/// Copies owner and mode of a directory.
fn copy_attributes(original: &Path, copy: &Path) -> io::Result<()> {
    let (wanted, found) = (fs::metadata(original)?, fs::metadata(copy)?);
    if (wanted.uid(), wanted.gid()) != (found.uid(), found.gid()) {
        chown(copy, Some(wanted.uid()), Some(wanted.gid()))?;
    }
    fs::set_permissions(copy, wanted.permissions())
}
