//! Chance, for those who should not all do the same thing at once. It protects no secret.

use std::hash::{BuildHasher as _, RandomState};

/// Anything from 0 to 1.
pub(crate) fn dice() -> f64 {
    let [a, b, c, d, ..] = random().to_le_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX)
}

/// Eight digits that nobody else has.
pub(crate) fn suffix() -> String {
    format!("{:08x}", random() & 0xffff_ffff)
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}

/// The identity of a run that nobody gave one.
pub fn new_run() -> String {
    format!("{:016x}{:016x}", random(), random())
}
