//! What a query can yield, decided without running it.
//!
//! Whoever blocks an update asks a cluster a question, and the query has to answer it with one
//! sample: 1 where the risk applies, 0 where it does not. Many queries get this wrong in a way
//! that shows only in the clusters that nobody tried.
//!
//! The query is evaluated over [cases](vector::Case) instead of samples: "one series without
//! labels and of value 0, wherever `up` has samples". What cannot be told is never guessed: an
//! unknown value stays unknown, and a bound on the number of series is a bound.

mod aggregate;
mod binary;
mod call;
mod condition;
mod coverage;
mod evaluate;
mod labels;
mod outcome;
mod suspicion;
#[cfg(test)]
mod tests;
mod vector;

pub use coverage::Coverage;
pub use outcome::{Outcome, Series, Values, outcome};
pub use suspicion::suspicious_matchers;
