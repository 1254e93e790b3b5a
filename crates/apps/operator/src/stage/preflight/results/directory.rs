//! The directory of one run. Its files are opened as the kernel sees them at that moment, and never
//! through a link.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::room::Room;

/// Bytes of a file that are read.
pub(in crate::stage::preflight) const LIMIT: u64 = 1 << 20;

/// Files that a run may have: results, what it asks for, the answer to that, and a draft of each,
/// with room for what later releases may add.
const MAX_FILES: usize = 16;

/// What they may take of the node's disk. Others need that, the operator among them.
const MAX_ON_DISK: u64 = 8 << 20;

/// Bytes of what the kernel counts as a block, whatever the file system does.
const BLOCK: u64 = 512;

/// A directory of one run.
#[derive(Debug)]
pub(in crate::stage::preflight) struct RunDirectory {
    directory: OwnedFd,
    /// The room that there was when it was opened; nothing where nobody can tell.
    room: Option<Room>,
}

/// What tells two contents of a file apart without reading them: a file that is replaced by another
/// has another identity, and one that is written to another time or size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::stage::preflight) struct Stamp {
    inode: u64,
    size: i64,
    changed: (i64, i64),
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(in crate::stage::preflight) enum ReadError {
    #[error("cannot read {name}: it is {what}")]
    Refused { name: String, what: &'static str },
    #[error("cannot read {name}: larger than {} KiB", LIMIT >> 10)]
    TooLarge { name: String },
    #[error("cannot read {name}")]
    Unreadable { name: String, source: io::Error },
}

/// What a run does to the disk of the node that no run may do.
#[derive(Debug, thiserror::Error)]
pub(in crate::stage::preflight) enum Excess {
    #[error("the results directory has more than {MAX_FILES} files")]
    Files,
    #[error("the files in the results directory use more than {} MiB", MAX_ON_DISK >> 20)]
    OnDisk,
    #[error("the file system of the results directory became almost full during the run")]
    Disk,
    #[error("the results directory contains a subdirectory")]
    Directory,
    #[error("access to the results directory is denied")]
    Shut,
}

impl RunDirectory {
    pub(super) fn new(directory: OwnedFd) -> Self {
        let room = Room::around(&directory).ok();
        Self { directory, room }
    }

    /// What tells whether a file is the one that was read before; nothing where there is none.
    pub(in crate::stage::preflight) fn stamp(&self, name: &str) -> Option<Stamp> {
        rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .ok()
            .map(|it| Stamp::of(&it))
    }

    /// The content of a file; nothing where there is none.
    pub(in crate::stage::preflight) fn read(
        &self,
        name: &str,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let refused = |what| ReadError::Refused { name: name.to_owned(), what };
        let unreadable =
            |source: io::Error| ReadError::Unreadable { name: name.to_owned(), source };
        // Whoever opens a pipe would wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let file = match rustix::fs::openat2(&self.directory, name, flags, Mode::empty(), inside) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(refused("a symbolic link")),
            Err(Errno::XDEV) => return Err(refused("on another file system")),
            Err(Errno::NXIO) => return Err(refused("a socket")),
            Err(error) => return Err(unreadable(error.into())),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| unreadable(error.into()))?;
        if let Some(what) = not_a_file(&stat) {
            return Err(refused(what));
        }
        let mut content = Vec::new();
        // What grows while it is read is too large as well.
        let read = File::from(file).take(LIMIT + 1).read_to_end(&mut content);
        if read.map_err(unreadable)? as u64 > LIMIT {
            return Err(ReadError::TooLarge { name: name.to_owned() });
        }
        Ok(Some(content))
    }

    /// Whether the run keeps more on the disk of the node than it may.
    pub(in crate::stage::preflight) fn excess(&self) -> io::Result<Option<Excess>> {
        let mut on_disk = 0;
        let entries = match Dir::read_from(&self.directory) {
            Err(Errno::ACCESS) => return Ok(Some(Excess::Shut)),
            entries => entries?,
        };
        // With the two that every directory has, for itself and for the one above.
        for (count, entry) in entries.enumerate() {
            if count >= MAX_FILES + 2 {
                return Ok(Some(Excess::Files));
            }
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let stat = match rustix::fs::statat(&self.directory, entry.file_name(), flags) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                return Ok(Some(Excess::Directory));
            }
            let blocks = u64::try_from(stat.st_blocks).unwrap_or(u64::MAX);
            on_disk = blocks.saturating_mul(BLOCK).saturating_add(on_disk);
        }
        if on_disk > MAX_ON_DISK {
            return Ok(Some(Excess::OnDisk));
        }
        Ok(Room::around(&self.directory).ok().and_then(|now| self.excess_of_disk(now)))
    }

    fn excess_of_disk(&self, now: Room) -> Option<Excess> {
        self.room.is_some_and(|then| now.is_used_up_since(then)).then_some(Excess::Disk)
    }

    /// Puts a file in the place of the one that was there, as one whole.
    pub(in crate::stage::preflight) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let draft = format!(".{name}.new");
        match rustix::fs::unlinkat(&self.directory, &draft, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let mut file = File::from(rustix::fs::openat(&self.directory, &draft, flags, mode)?);
        file.write_all(content)?;
        file.sync_all()?;
        Ok(rustix::fs::renameat(&self.directory, &draft, &self.directory, name)?)
    }
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        #[allow(clippy::useless_conversion, reason = "these types differ between platforms")]
        let changed = (stat.st_mtime.into(), i64::try_from(stat.st_mtime_nsec).unwrap_or_default());
        Self { inode: stat.st_ino, size: stat.st_size, changed }
    }
}

/// What something is that is not a file of its own.
fn not_a_file(stat: &Stat) -> Option<&'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink == 1 => None,
        FileType::RegularFile => Some("a file with several hard links"),
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a named pipe"),
        FileType::Socket => Some("a socket"),
        _ => Some("not a regular file"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;
    use crate::stage::preflight::results::Root;
    use crate::stage::preflight::run_id::RunId;

    const NAME: &str = "result.json";

    fn directory() -> (TempDir, PathBuf, RunDirectory) {
        let temporary = tempfile::tempdir().unwrap();
        let run = RunId::random().unwrap();
        let opened = Root::new(temporary.path()).make(&run).unwrap();
        let path = temporary.path().join(run.as_str());
        (temporary, path, opened)
    }

    fn refused(put: impl FnOnce(&PathBuf)) -> String {
        let (_temporary, path, opened) = directory();
        put(&path);
        opened.read(NAME).expect_err("it is refused").to_string()
    }

    #[test]
    fn a_plain_file_is_read() {
        let (_temporary, path, opened) = directory();
        assert!(opened.read(NAME).unwrap().is_none());
        fs::write(path.join(NAME), "{}").unwrap();
        assert_eq!(opened.read(NAME).unwrap().as_deref(), Some(&b"{}"[..]));
    }

    #[test]
    fn whatever_else_is_in_its_place_is_refused() {
        let told = [
            refused(|path| symlink("/etc/passwd", path.join(NAME)).unwrap()),
            refused(|path| symlink("elsewhere", path.join(NAME)).unwrap()),
            refused(|path| fs::create_dir(path.join(NAME)).unwrap()),
            refused(|path| {
                let mode = Mode::RUSR | Mode::WUSR;
                let cwd = rustix::fs::CWD;
                rustix::fs::mknodat(cwd, path.join(NAME), FileType::Fifo, mode, 0).unwrap();
            }),
            refused(|path| drop(UnixListener::bind(path.join(NAME)).unwrap())),
            refused(|path| {
                fs::write(path.join("other"), "").unwrap();
                fs::hard_link(path.join("other"), path.join(NAME)).unwrap();
            }),
            refused(|path| {
                let file = File::create(path.join(NAME)).unwrap();
                file.set_len(LIMIT + 1).unwrap();
            }),
        ];
        insta::assert_snapshot!(told.join("\n"), @"
        cannot read result.json: it is a symbolic link
        cannot read result.json: it is a symbolic link
        cannot read result.json: it is a directory
        cannot read result.json: it is a named pipe
        cannot read result.json: it is a socket
        cannot read result.json: it is a file with several hard links
        cannot read result.json: larger than 1024 KiB
        ");
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        let (temporary, _path, opened) = directory();
        fs::write(temporary.path().join("secret"), "").unwrap();
        assert!(opened.read("../secret").is_err());
        assert!(opened.read("/etc/passwd").is_err());
    }

    #[test]
    fn a_run_does_not_fill_the_disk() {
        type Put = fn(&PathBuf);
        let cases: [(Put, Option<&str>); 6] = [
            (|_| {}, None),
            (|path| (0..16).for_each(|n| fs::write(path.join(n.to_string()), "a").unwrap()), None),
            (
                |path| (0..17).for_each(|n| fs::write(path.join(n.to_string()), "").unwrap()),
                Some("the results directory has more than 16 files"),
            ),
            (
                |path| {
                    for name in ["a", "b"] {
                        fs::write(path.join(name), vec![1; 5 << 20]).unwrap();
                    }
                },
                Some("the files in the results directory use more than 8 MiB"),
            ),
            // Only what takes room counts.
            (|path| File::create(path.join("a")).unwrap().set_len(1 << 40).unwrap(), None),
            (
                |path| fs::create_dir(path.join("a")).unwrap(),
                Some("the results directory contains a subdirectory"),
            ),
        ];
        for (put, expected) in cases {
            let (_temporary, path, opened) = directory();
            put(&path);
            let excess = opened.excess().unwrap().map(|excess| excess.to_string());
            assert_eq!(excess.as_deref(), expected);
        }
    }

    #[test]
    fn what_has_no_name_fills_the_disk_as_well() {
        let (_temporary, _path, mut opened) = directory();
        assert_eq!(opened.excess_of_disk(Room { free: u64::MAX }).map(|it| it.to_string()), None);
        opened.room = Some(Room { free: u64::MAX });
        let excess = opened.excess_of_disk(Room { free: 0 }).map(|excess| excess.to_string());
        let told = "the file system of the results directory became almost full during the run";
        assert_eq!(excess.as_deref(), Some(told));
    }

    #[test]
    fn a_new_content_has_another_stamp() {
        let (_temporary, path, opened) = directory();
        assert_eq!(opened.stamp(NAME), None);
        fs::write(path.join(NAME), "one").unwrap();
        let one = opened.stamp(NAME);
        assert_eq!(opened.stamp(NAME), one);
        fs::write(path.join("draft"), "two").unwrap();
        fs::rename(path.join("draft"), path.join(NAME)).unwrap();
        assert_ne!(opened.stamp(NAME), one);
    }

    #[test]
    fn what_is_written_replaces_what_was_there_whatever_it_was() {
        let (temporary, path, opened) = directory();
        let precious = temporary.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        symlink(&precious, path.join("answer.json")).unwrap();
        symlink(&precious, path.join(".answer.json.new")).unwrap();
        opened.write("answer.json", b"answer").unwrap();
        assert_eq!(fs::read_to_string(path.join("answer.json")).unwrap(), "answer");
        assert!(path.join("answer.json").symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        fs::create_dir(path.join(".answer.json.new")).unwrap();
        assert!(opened.write("answer.json", b"answer").is_err(), "somebody does not want it");
    }
}
