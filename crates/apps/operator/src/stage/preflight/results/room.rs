//! How much room there is on the disk of the node. A file that is open takes of it without a name, and
//! so without being counted.

use std::io;
use std::os::fd::OwnedFd;

/// What a run leaves to others at least. A part of the disk would blame runs on large disks for what
/// others write; with less than this, logs and images soon have no room.
const LEFT: u64 = 1 << 30;

/// What others may write at the same time, so that no run is to blame for it.
const OTHERS: u64 = 64 << 20;

/// How much room there is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) free: u64,
}

impl Room {
    /// On the disk of that directory.
    pub(super) fn around(directory: &OwnedFd) -> io::Result<Self> {
        let disk = rustix::fs::fstatvfs(directory)?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        Ok(Self { free: bytes(disk.f_bavail) })
    }

    /// Whether it has become so little since then that others are in want.
    pub(super) fn is_used_up_since(self, before: Self) -> bool {
        before.free.saturating_sub(self.free) > OTHERS && self.free < LEFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_becomes_full_is_told_from_one_that_was() {
        const MIB: u64 = 1 << 20;
        for (before, now, is_used_up) in [
            (50_000 * MIB, 50_000 * MIB, false),
            (50_000 * MIB, 2_000 * MIB, false),
            (50_000 * MIB, 1_000 * MIB, true),
            (50_000 * MIB, 0, true),
            // It was full before, and is hardly fuller.
            (1_000 * MIB, 1_000 * MIB - OTHERS, false),
            (1_000 * MIB, 1_000 * MIB - OTHERS - 1, true),
            (1_000 * MIB, 50_000 * MIB, false),
        ] {
            let room = |free| Room { free };
            assert_eq!(room(now).is_used_up_since(room(before)), is_used_up, "{before} {now}");
        }
    }
}
