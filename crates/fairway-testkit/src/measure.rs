//! Measuring: how long something takes, compared with something else in the same run.
//!
//! A machine is as fast as its neighbours let it be, so a time alone says little, and no test
//! depends on one. Both sides of a comparison are run in turns, and the median counts.
#![expect(clippy::disallowed_methods, reason = "measuring is about the clock of this machine")]
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Enough for the median to settle within a few per cent, and still a matter of seconds.
const ROUNDS: usize = 30;

/// The measurements of one bench, printed as they come.
pub struct Bench {
    filter: Option<String>,
}

impl Bench {
    /// Begins a table. Its filter is the first argument that is not an option of cargo's.
    pub fn from_arguments() -> Self {
        let filter = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
        println!("{:<44} {:>12} {:>12} {:>8}", "what", "takes", "baseline", "ratio");
        Self { filter }
    }

    /// Measures some work beside a baseline.
    pub fn compare<A, B>(
        &self,
        name: &str,
        mut work: impl FnMut() -> A,
        mut baseline: impl FnMut() -> B,
    ) {
        if self.filter.as_ref().is_some_and(|filter| !name.contains(filter)) {
            return;
        }
        let (mut took, mut base) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            took.push(time(&mut work));
            base.push(time(&mut baseline));
        }
        let (took, base) = (median(took), median(base));
        let ratio = took.as_secs_f64() / base.as_secs_f64().max(f64::EPSILON);
        println!("{name:<44} {took:>12.1?} {base:>12.1?} {ratio:>7.2}x");
    }
}

fn time<T>(work: &mut impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
