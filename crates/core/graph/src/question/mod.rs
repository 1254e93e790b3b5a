//! Questions that people ask about a graph. Every answer is a report: it can be printed, and it
//! can be written as JSON.

mod changes;
mod channels;
mod cheapest;
mod data_changes;
mod paths;
mod stranded;
mod why;

pub use changes::{Changes, EdgeChange, State};
pub use channels::{channels, latest};
pub use cheapest::{Cheapest, Cost};
pub use data_changes::{BlockChange, ChannelChange, DataChanges, Statement};
pub use paths::{Path, Paths, PathsError, Step, paths};
pub use stranded::{Closed, Stranded, Stranding, stranded};
pub use why::{Cause, Verdict, Why, WhyError};

use std::fmt;

/// So many of something.
struct Count(usize, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        match count {
            0 => write!(f, "no {noun}s"),
            1 => write!(f, "1 {noun}"),
            _ => write!(f, "{count} {noun}s"),
        }
    }
}
