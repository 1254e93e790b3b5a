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

    /// One of these numbers.
    pub(crate) fn among(&mut self, range: Range<u64>) -> u64 {
        let width = range.end.saturating_sub(range.start).max(1);
        range.start + self.throw() % width
    }

    /// A time between these.
    pub(crate) fn time(&mut self, range: &Range<Duration>) -> Duration {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(self.among(micros(range.start)..micros(range.end)))
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = choices.len() as u64;
        choices[usize::try_from(self.among(0..last)).unwrap_or_default()]
    }

    /// `SplitMix64`: short, and even enough for this.
    fn throw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
