//! Results directory of one run. The target release writes it and is not trusted: files are opened
//! relative to the directory, without following links, and with limits.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// Maximum bytes of a file.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 20;

/// Maximum number of files: results, requests, answers and a draft of each, with a reserve for
/// later releases.
const MAX_FILES: usize = 16;

/// Maximum disk usage of a run, to protect other processes of the node.
const MAX_DISK_USAGE: u64 = 8 << 20;

/// Unit of `st_blocks`, independent of the file system.
const BLOCK_BYTES: u64 = 512;

/// Results directory of one run.
#[derive(Debug)]
pub(super) struct RunDirectory {
    directory: OwnedFd,
    /// Free disk space when the directory was opened; `None` if unknown.
    disk_space: Option<DiskSpace>,
}

/// Identifies a version of a file without reading it. A replaced file has another inode; a
/// rewritten one another time or size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileVersion {
    inode: u64,
    size: i64,
    changed: (i64, i64),
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("cannot read {name}: it is {what}")]
    Refused { name: String, what: &'static str },
    #[error("cannot read {name}: larger than {} KiB", MAX_FILE_BYTES >> 10)]
    TooLarge { name: String },
    #[error("cannot read {name}")]
    Unreadable { name: String, source: io::Error },
}

/// Limit that a run exceeds.
#[derive(Debug, thiserror::Error)]
pub(super) enum LimitExceeded {
    #[error("the results directory has more than {MAX_FILES} files")]
    Files,
    #[error("the files in the results directory use more than {} MiB", MAX_DISK_USAGE >> 20)]
    OnDisk,
    #[error("the file system of the results directory became almost full during the run")]
    Disk,
    #[error("the results directory contains a subdirectory")]
    Directory,
    #[error("access to the results directory is denied")]
    AccessDenied,
}

impl RunDirectory {
    pub(super) fn new(directory: OwnedFd) -> Self {
        let disk_space = DiskSpace::of_directory(&directory).ok();
        Self { directory, disk_space }
    }

    /// Version of a file; `None` if it does not exist.
    pub(super) fn version(&self, name: &str) -> Option<FileVersion> {
        rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .ok()
            .map(|it| FileVersion::from_stat(&it))
    }

    /// Content of a file; `None` if it does not exist.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let refused = |what| ReadError::Refused { name: name.to_owned(), what };
        let unreadable =
            |source: io::Error| ReadError::Unreadable { name: name.to_owned(), source };
        // NONBLOCK: opening a named pipe would block until it has a writer.
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
        if let Some(what) = file_problem(&stat) {
            return Err(refused(what));
        }
        let mut content = Vec::new();
        // Detects files that grow while they are read.
        let read = File::from(file).take(MAX_FILE_BYTES + 1).read_to_end(&mut content);
        if read.map_err(unreadable)? as u64 > MAX_FILE_BYTES {
            return Err(ReadError::TooLarge { name: name.to_owned() });
        }
        Ok(Some(content))
    }

    /// Limit that the run exceeds, if any.
    pub(super) fn exceeded_limit(&self) -> io::Result<Option<LimitExceeded>> {
        let mut on_disk = 0;
        let entries = match Dir::read_from(&self.directory) {
            Err(Errno::ACCESS) => return Ok(Some(LimitExceeded::AccessDenied)),
            entries => entries?,
        };
        // Plus the entries `.` and `..`.
        for (count, entry) in entries.enumerate() {
            if count >= MAX_FILES + 2 {
                return Ok(Some(LimitExceeded::Files));
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
                return Ok(Some(LimitExceeded::Directory));
            }
            let blocks = u64::try_from(stat.st_blocks).unwrap_or(u64::MAX);
            on_disk = blocks.saturating_mul(BLOCK_BYTES).saturating_add(on_disk);
        }
        if on_disk > MAX_DISK_USAGE {
            return Ok(Some(LimitExceeded::OnDisk));
        }
        Ok(DiskSpace::of_directory(&self.directory)
            .ok()
            .and_then(|now| self.exceeded_disk_space(now)))
    }

    fn exceeded_disk_space(&self, now: DiskSpace) -> Option<LimitExceeded> {
        self.disk_space
            .is_some_and(|then| now.became_full_since(then))
            .then_some(LimitExceeded::Disk)
    }

    /// Replaces a file atomically.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
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

impl FileVersion {
    fn from_stat(stat: &Stat) -> Self {
        #[allow(clippy::useless_conversion, reason = "these types differ between platforms")]
        let changed = (stat.st_mtime.into(), i64::try_from(stat.st_mtime_nsec).unwrap_or_default());
        Self { inode: stat.st_ino, size: stat.st_size, changed }
    }
}

/// What the entry is, unless it is a regular file with one link.
fn file_problem(stat: &Stat) -> Option<&'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink == 1 => None,
        FileType::RegularFile => Some("a file with several hard links"),
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a named pipe"),
        FileType::Socket => Some("a socket"),
        _ => Some("not a regular file"),
    }
}

/// Free space below which a run is stopped. An absolute value: a percentage would blame runs on
/// large disks for the writes of others.
const MIN_FREE_BYTES: u64 = 1 << 30;

/// Decrease of free space that other processes may cause during a run.
const MAX_FOREIGN_WRITES: u64 = 64 << 20;

/// Free disk space in bytes. It also reveals unlinked files that are still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiskSpace {
    pub(super) free: u64,
}

impl DiskSpace {
    /// Free space of the file system of a directory.
    pub(super) fn of_directory(directory: &OwnedFd) -> io::Result<Self> {
        let disk = rustix::fs::fstatvfs(directory)?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Ok(Self { free: bytes(disk.f_bavail) })
    }

    /// Whether the disk became almost full since then.
    pub(super) fn became_full_since(self, before: Self) -> bool {
        before.free.saturating_sub(self.free) > MAX_FOREIGN_WRITES && self.free < MIN_FREE_BYTES
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
    use crate::stage::preflight::deployment::RunId;
    use crate::stage::preflight::results_root::ResultsRoot;

    const NAME: &str = "result.json";

    fn directory() -> (TempDir, PathBuf, RunDirectory) {
        let temporary = tempfile::tempdir().unwrap();
        let run = RunId::random().unwrap();
        let opened = ResultsRoot::new(temporary.path()).make(&run).unwrap();
        let path = temporary.path().join(run.as_str());
        (temporary, path, opened)
    }

    fn refused(put: impl FnOnce(&PathBuf)) -> String {
        let (_temporary, path, opened) = directory();
        put(&path);
        opened.read(NAME).expect_err("it is refused").to_string()
    }

    #[test]
    fn read_regular_file_returns_content() {
        let (_temporary, path, opened) = directory();
        assert!(opened.read(NAME).unwrap().is_none());
        fs::write(path.join(NAME), "{}").unwrap();
        assert_eq!(opened.read(NAME).unwrap().as_deref(), Some(&b"{}"[..]));
    }

    #[test]
    fn read_of_anything_else_is_refused() {
        let rendered = [
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
                file.set_len(MAX_FILE_BYTES + 1).unwrap();
            }),
        ];
        insta::assert_snapshot!(rendered.join("\n"), @"
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
    fn read_outside_of_directory_fails() {
        let (temporary, _path, opened) = directory();
        fs::write(temporary.path().join("secret"), "").unwrap();
        assert!(opened.read("../secret").is_err());
        assert!(opened.read("/etc/passwd").is_err());
    }

    #[test]
    fn exceeded_limit_of_files_and_sizes() {
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
            // A sparse file uses no disk space.
            (|path| File::create(path.join("a")).unwrap().set_len(1 << 40).unwrap(), None),
            (
                |path| fs::create_dir(path.join("a")).unwrap(),
                Some("the results directory contains a subdirectory"),
            ),
        ];
        for (put, expected) in cases {
            let (_temporary, path, opened) = directory();
            put(&path);
            let exceeded_limit =
                opened.exceeded_limit().unwrap().map(|exceeded_limit| exceeded_limit.to_string());
            assert_eq!(exceeded_limit.as_deref(), expected);
        }
    }

    #[test]
    fn exceeded_limit_of_unlinked_files() {
        let (_temporary, _path, mut opened) = directory();
        assert_eq!(
            opened.exceeded_disk_space(DiskSpace { free: u64::MAX }).map(|it| it.to_string()),
            None
        );
        opened.disk_space = Some(DiskSpace { free: u64::MAX });
        let exceeded_limit = opened
            .exceeded_disk_space(DiskSpace { free: 0 })
            .map(|exceeded_limit| exceeded_limit.to_string());
        let rendered = "the file system of the results directory became almost full during the run";
        assert_eq!(exceeded_limit.as_deref(), Some(rendered));
    }

    #[test]
    fn version_changes_with_content() {
        let (_temporary, path, opened) = directory();
        assert_eq!(opened.version(NAME), None);
        fs::write(path.join(NAME), "one").unwrap();
        let one = opened.version(NAME);
        assert_eq!(opened.version(NAME), one);
        fs::write(path.join("draft"), "two").unwrap();
        fs::rename(path.join("draft"), path.join(NAME)).unwrap();
        assert_ne!(opened.version(NAME), one);
    }

    #[test]
    fn write_replaces_links_without_following() {
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
        assert!(opened.write("answer.json", b"answer").is_err(), "a directory blocks the draft");
    }

    #[test]
    fn disk_space_distinguishes_filled_disk_from_full_one() {
        const MIB: u64 = 1 << 20;
        for (before, now, is_used_up) in [
            (50_000 * MIB, 50_000 * MIB, false),
            (50_000 * MIB, 2_000 * MIB, false),
            (50_000 * MIB, 1_000 * MIB, true),
            (50_000 * MIB, 0, true),
            // The disk was full before the run.
            (1_000 * MIB, 1_000 * MIB - MAX_FOREIGN_WRITES, false),
            (1_000 * MIB, 1_000 * MIB - MAX_FOREIGN_WRITES - 1, true),
            (1_000 * MIB, 50_000 * MIB, false),
        ] {
            let disk_space = |free| DiskSpace { free };
            assert_eq!(
                disk_space(now).became_full_since(disk_space(before)),
                is_used_up,
                "{before} {now}"
            );
        }
    }
}
