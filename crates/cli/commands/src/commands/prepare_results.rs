//! `fairway prepare-results`: sets the owner of the directory for preflight results. The kubelet creates it
//! for root, and the operator does not run as root, so an init container runs this command.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use anyhow::Context as _;
use rustix::fs::{Dir, Mode, OFlags, Uid};
use rustix::io::Errno;

use crate::args::PrepareResultsArgs;
use crate::exit::ExitStatus;
use crate::mounted;
use crate::printer::Printer;

/// Mode of the directory: only the operator accesses it.
const OWNER_ONLY: u32 = 0o700;

/// Maximum number of subdirectories in old results. A run with a subdirectory is aborted within a second.
const MAX_DIRECTORIES: usize = 10_000;

pub(crate) fn run(args: &PrepareResultsArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (dir, owner) = (&mounted::at(&args.dir), &args.owner);
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    fs::set_permissions(dir, Permissions::from_mode(OWNER_ONLY))
        .with_context(|| format!("cannot set the permissions of {}", dir.display()))?;
    match chown(dir, Some(*owner), Some(*owner)) {
        // A sandbox without root has a single user, so there is no other owner.
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            printer.note(format!(
                "user {owner} does not exist; the owner of {} is unchanged",
                dir.display()
            ));
        }
        handed_over => {
            handed_over.with_context(|| {
                format!("cannot change the owner of {} to user {owner}", dir.display())
            })?;
            // Leftovers must not prevent the start of the operator.
            if let Err(error) = take_over(dir, *owner) {
                printer.note(format!("cannot change the owner of old results: {error}"));
            }
        }
    }
    Ok(ExitStatus::Success)
}

/// Makes the owner of the directory the owner of all subdirectories of runs, without following links:
/// only root can remove a directory in which another user has created files.
fn take_over(dir: &Path, owner: u32) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(dir, flags, Mode::empty())?;
    let (mut left, mut count) = (subdirectories(&root, flags)?, 0);
    // The directory of a run itself belongs to the operator.
    while let Some(run) = left.pop() {
        for directory in subdirectories(&run, flags)? {
            count += 1;
            if count > MAX_DIRECTORIES {
                return Err(io::Error::other(format!("more than {MAX_DIRECTORIES} directories")));
            }
            rustix::fs::fchown(&directory, Some(Uid::from_raw(owner)), None)?;
            rustix::fs::fchmod(&directory, Mode::RWXU)?;
            left.push(directory);
        }
    }
    Ok(())
}

fn subdirectories(parent: &OwnedFd, flags: OFlags) -> io::Result<Vec<OwnedFd>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(parent)? {
        let entry = entry?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        match rustix::fs::openat(parent, entry.file_name(), flags, Mode::empty()) {
            Ok(directory) => found.push(directory),
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    #[test]
    fn take_over_changes_subdirectories_and_follows_no_links() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let temporary = tempfile::tempdir().unwrap();
        let (results, other) = (temporary.path().join("results"), temporary.path().join("other"));
        let inner = results.join("run/shut/inner");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(other.join("inner")).unwrap();
        symlink(&other, results.join("run/link")).unwrap();
        for shut in [&inner, &results.join("run/shut")] {
            fs::set_permissions(shut, Permissions::from_mode(0o000)).unwrap();
        }
        take_over(&results, 65532).unwrap();
        for path in [&inner, &results.join("run/shut")] {
            let found = fs::metadata(path).unwrap();
            assert_eq!((found.uid(), found.mode() & 0o777), (65532, 0o700), "{}", path.display());
        }
        for path in [other.join("inner"), results.join("run")] {
            assert_eq!(fs::metadata(&path).unwrap().uid(), 0, "{}", path.display());
        }
    }
}
