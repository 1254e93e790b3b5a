//! Random names for runs and Jobs.

use fairway_clock::random_bits;

/// Eight hexadecimal digits that make a name unique.
pub(crate) fn suffix() -> String {
    format!("{:08x}", random_bits() & 0xffff_ffff)
}

/// The ID of a run for which the caller gave none.
pub fn new_run() -> String {
    format!("{:016x}{:016x}", random_bits(), random_bits())
}
