//! What can be asked of a recorded cluster, which nothing can be changed in.

use crate::args::source::SourceArgs;
use crate::args::upgrade::UpgradeArgs;
use crate::args::upgrade_preflight::PreflightWish;
use crate::errors::WrongUsage;

/// Refuses to change files.
pub(super) fn check(args: &UpgradeArgs, wish: Option<PreflightWish>) -> Result<(), WrongUsage> {
    let changes = match wish {
        Some(PreflightWish::Status) => false,
        Some(_) => true,
        None => args.request.is_one(),
    };
    if changes && !args.source.recorded.from_file.is_empty() {
        return Err(WrongUsage(
            "--from-file reads a recorded cluster, which accepts no requests".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses to change files by a command that can also tell what would come of it.
pub(super) fn check_change(source: &SourceArgs, changes: bool) -> Result<(), WrongUsage> {
    if changes && !source.recorded.from_file.is_empty() {
        return Err(WrongUsage(
            "--from-file reads a recorded cluster, which cannot be changed; add --dry-run to \
             preview the change"
                .to_owned(),
        ));
    }
    Ok(())
}
