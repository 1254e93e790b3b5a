//! Chance that can be had again.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_testkit::environment::CHAOS_SEED;

/// A row of numbers that follows from its seed. It protects no secret.
#[derive(Debug)]
pub(crate) struct Dice {
    state: u64,
}

impl Dice {
    /// Dice with the seed that somebody wants again, or with a new one; it is told.
    #[expect(clippy::print_stdout, reason = "whoever sees a test fail wants the same again")]
    pub(crate) fn take() -> Result<Self> {
        let state = match std::env::var(CHAOS_SEED) {
            Ok(seed) => seed.parse().with_context(|| format!("{CHAOS_SEED}={seed}: a number"))?,
            Err(_) => RandomState::new().hash_one(()),
        };
        println!("to have the same moments again: {CHAOS_SEED}={state}");
        Ok(Self { state })
    }

    /// Other dice, which also follow from the seed: whoever throws them disturbs no other row.
    pub(crate) fn fork(&mut self) -> Self {
        Self { state: self.throw() }
    }

    /// A number below that one, or 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = limit.max(1) as u64;
        usize::try_from(self.throw() % limit).unwrap_or_default()
    }

    /// A time between these.
    pub(crate) fn time(&mut self, range: &Range<Duration>) -> Duration {
        let width = range.end.saturating_sub(range.start).as_micros();
        let micros = self.below(usize::try_from(width).unwrap_or(usize::MAX));
        range.start + Duration::from_micros(micros as u64)
    }

    /// One of these.
    pub(crate) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// `SplitMix64`: short, and even enough for this.
    fn throw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
