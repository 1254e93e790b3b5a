//! Measuring: how long something takes, compared with something else in the same run.
//!
//! A machine is as fast as its neighbours let it be, so a time alone says little, and no test
//! depends on one. Both sides of a comparison are run in turns, and the median counts.
#![expect(clippy::disallowed_methods, reason = "measuring is about the clock of this machine")]
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

pub mod job;

use std::fmt;
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

/// What two sides were measured to do, printed as it comes.
pub struct Table;

impl Table {
    /// Begins a table of these two.
    pub fn new(ours: &str, theirs: &str) -> Self {
        println!("{:<44} {ours:>14} {theirs:>14} {:>8}", "what", "ratio");
        Self
    }

    /// Prints one line; the other side may be missing.
    pub fn row(&self, name: &str, ours: Figure, theirs: Option<Figure>) {
        let (shown, ratio) = match theirs {
            Some(theirs) => (theirs.to_string(), shown(ours.ratio(theirs))),
            None => ("-".to_owned(), "-".to_owned()),
        };
        println!("{name:<44} {:>14} {shown:>14} {ratio:>8}", ours.to_string());
    }
}

/// A ratio as people read it.
fn shown(ratio: f64) -> String {
    match ratio {
        small if small < 0.1 => format!("1/{:.0}", 1.0 / small.max(f64::EPSILON)),
        large if large >= 100.0 => format!("{large:.0}x"),
        ratio => format!("{ratio:.2}x"),
    }
}

/// Something that was measured.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// How long it took.
    Time(Duration),
    /// How many of them in a second.
    PerSecond(f64),
    /// How much memory.
    Bytes(u64),
    /// How many.
    Count(usize),
}

impl Figure {
    /// The middle one of these times.
    pub fn median(times: Vec<Duration>) -> Self {
        Self::Time(median(times))
    }

    /// So many in that time.
    #[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
    pub fn per_second(count: usize, took: Duration) -> Self {
        Self::PerSecond(count as f64 / took.as_secs_f64().max(f64::EPSILON))
    }

    fn ratio(self, other: Self) -> f64 {
        self.amount() / other.amount().max(f64::EPSILON)
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio needs three digits")]
    fn amount(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            Self::PerSecond(rate) => rate,
            Self::Bytes(bytes) => bytes as f64,
            Self::Count(count) => count as f64,
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) if *time < Duration::from_millis(10) => {
                write!(f, "{} µs", time.as_micros())
            }
            Self::Time(time) => write!(f, "{} ms", time.as_millis()),
            Self::PerSecond(rate) => write!(f, "{rate:.0}/s"),
            Self::Bytes(bytes) => write!(f, "{} MiB", bytes / (1 << 20)),
            Self::Count(count) => write!(f, "{count}"),
        }
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
