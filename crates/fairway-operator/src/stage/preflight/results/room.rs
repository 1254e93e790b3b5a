//! How much room there is on the disk of the node. A file that is open takes of it without a name, and
//! so without being counted.

use std::io;
use std::os::fd::OwnedFd;

/// The part of the disk that a run leaves to others at least. Kubelets remove Pods at a tenth; those
/// that write to a directory of the node are not the first that they find.
const LEFT: u64 = 20;

/// What others may write at the same time, so that no run is to blame for it.
const OTHERS: u64 = 64 << 20;

/// How much room there is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) free: u64,
    pub(super) total: u64,
}

impl Room {
    /// On the disk of that directory.
    pub(super) fn around(directory: &OwnedFd) -> io::Result<Self> {
        let disk = rustix::fs::fstatvfs(directory)?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Ok(Self { free: bytes(disk.f_bavail), total: bytes(disk.f_blocks) })
    }

    /// Whether it has become so little since then that others are in want.
    pub(super) fn is_used_up_since(self, before: Self) -> bool {
        before.free.saturating_sub(self.free) > OTHERS && self.free < before.total / LEFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_becomes_full_is_told_from_one_that_was() {
        const GIB: u64 = 1 << 30;
        for (before, now, is_used_up) in [
            (50 * GIB, 50 * GIB, false),
            (50 * GIB, 6 * GIB, false),
            (50 * GIB, 4 * GIB, true),
            (50 * GIB, 0, true),
            // It was full before, and is hardly fuller.
            (4 * GIB, 4 * GIB - OTHERS, false),
            (4 * GIB, 4 * GIB - OTHERS - 1, true),
            (4 * GIB, 50 * GIB, false),
        ] {
            let room = |free| Room { free, total: 100 * GIB };
            assert_eq!(room(now).is_used_up_since(room(before)), is_used_up, "{before} {now}");
        }
    }
}
