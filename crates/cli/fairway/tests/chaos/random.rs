//! Reproducible random numbers.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_testkit::environment::CHAOS_SEED;

/// A random number generator with a seed. Not for secrets.
#[derive(Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// A generator with the seed of `FAIRWAY_CHAOS_SEED`, or with a new one. Prints the seed.
    #[expect(clippy::print_stdout, reason = "a failed test has to name its seed")]
    pub(crate) fn from_environment() -> Result<Self> {
        let state = match std::env::var(CHAOS_SEED) {
            Ok(seed) => seed.parse().with_context(|| format!("{CHAOS_SEED}={seed}: a number"))?,
            Err(_) => RandomState::new().hash_one(()),
        };
        println!("to repeat this run: {CHAOS_SEED}={state}");
        Ok(Self { state })
    }

    /// A generator for another task. Its use does not change the numbers of this one.
    pub(crate) fn fork(&mut self) -> Self {
        Self { state: self.next() }
    }

    /// A number below a limit, or 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = limit.max(1) as u64;
        usize::try_from(self.next() % limit).unwrap_or_default()
    }

    /// A duration in a range.
    pub(crate) fn duration(&mut self, range: &Range<Duration>) -> Duration {
        let width = range.end.saturating_sub(range.start).as_micros();
        let micros = self.below(usize::try_from(width).unwrap_or(usize::MAX));
        range.start + Duration::from_micros(micros as u64)
    }

    /// An element of a slice.
    pub(crate) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// The `SplitMix64` generator.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
