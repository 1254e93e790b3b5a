//! A directory into which untrusted paths are written.
//!
//! Every path is resolved by the kernel as if the directory were the root of everything, so a link
//! that an earlier entry made leads nowhere else. The last name of a path is never followed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, ResolveFlags, Uid};
use rustix::io::Errno;

/// Files lose setuid and setgid: nothing in the sandbox may gain privileges by them.
const FILE_BITS: u32 = 0o777;
/// Directories keep the bit that protects what lies in `/tmp`.
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
        let (parent, name) = self.place(path)?;
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
        let (parent, name) = self.place(path)?;
        clear(&parent, name)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o600))?;
        rustix::fs::fchmod(&file, self.file_mode(mode))?;
        Ok(file.into())
    }

    pub(super) fn symlink(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (parent, name) = self.place(path)?;
        clear(&parent, name)?;
        Ok(rustix::fs::symlinkat(target, &parent, name)?)
    }

    pub(super) fn hard_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (target_parent, target_name) = self.existing(target)?.ok_or(Errno::NOENT)?;
        let (parent, name) = self.place(path)?;
        if path != target {
            clear(&parent, name)?;
            // Without AT_SYMLINK_FOLLOW: a link to a symbolic link is one to the link itself.
            let flags = AtFlags::empty();
            rustix::fs::linkat(&target_parent, target_name, &parent, name, flags)?;
        }
        Ok(())
    }

    /// Gives what was just made its owner, if this process may; giving away drops no bits here
    /// that `mode` should keep.
    pub(super) fn own(&self, path: &Path, user: u32, group: u32, mode: u32) -> io::Result<()> {
        if !self.is_superuser || (user, group) == (0, 0) {
            return Ok(());
        }
        let Some((parent, name)) = self.existing(path)? else { return Ok(()) };
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

    /// Removes a path with everything below it; it may be missing.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        match self.existing(path)? {
            Some((parent, name)) => clear(&parent, name),
            None => Ok(()),
        }
    }

    /// Removes what is in a directory, except for what `keep` names and what lies above that.
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

    /// The directory in which a path lies, made if it is missing, and the path's last name.
    fn place<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        match self.resolve(parent, OFlags::PATH | OFlags::DIRECTORY) {
            Err(Errno::NOENT) => self.make(parent)?,
            opened => return Ok((opened?, name)),
        }
        Ok((self.resolve(parent, OFlags::PATH | OFlags::DIRECTORY)?, name))
    }

    /// Makes the directories of a path, the outermost first.
    fn make(&self, path: &Path) -> io::Result<()> {
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

    fn existing<'a>(&self, path: &'a Path) -> io::Result<Option<(OwnedFd, &'a OsStr)>> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let parent = path.parent().unwrap_or(Path::new(""));
        match self.resolve(parent, OFlags::PATH | OFlags::DIRECTORY) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            opened => Ok(Some((opened?, name))),
        }
    }

    /// Opens a path as if the directory were the root of everything.
    fn resolve(&self, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.root, path, flags | OFlags::CLOEXEC, Mode::empty(), inside)
    }

    /// An ordinary user could not write into a read-only directory that a later entry fills.
    fn directory_mode(&self, mode: u32) -> Mode {
        let bits = if self.is_superuser { 0 } else { 0o700 };
        Mode::from_raw_mode((mode & DIRECTORY_BITS) | bits)
    }

    /// An ordinary user could not read what only the superuser may read without asking.
    fn file_mode(&self, mode: u32) -> Mode {
        let bits = if self.is_superuser { 0 } else { 0o400 };
        Mode::from_raw_mode((mode & FILE_BITS) | bits)
    }
}

fn is_directory(parent: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    let status = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir())
}

/// Removes whatever has that name.
fn clear(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) => {
            let path = format!("/proc/self/fd/{}", parent.as_raw_fd());
            // Does not follow links on its way down.
            std::fs::remove_dir_all(Path::new(&path).join(name))
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
