//! Chance, for those who should not all do the same thing at once.

use std::hash::{BuildHasher as _, RandomState};

/// Anything from 0 to 1. It protects no secret.
pub(crate) fn dice() -> f64 {
    let [a, b, c, d, ..] = RandomState::new().hash_one(()).to_le_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX)
}
