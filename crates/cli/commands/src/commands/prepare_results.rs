//! `fairway prepare-results`: sets the owner of the directory for preflight results. The kubelet creates it
//! for root, and the operator does not run as root, so an init container runs this command.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt as _, chown};

use anyhow::Context as _;

use crate::args::PrepareResultsArgs;
use crate::exit::ExitStatus;
use crate::mounted;
use crate::printer::Printer;

/// Mode of the directory: only the operator accesses it.
const OWNER_ONLY: u32 = 0o700;

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
        }
    }
    Ok(ExitStatus::Success)
}
