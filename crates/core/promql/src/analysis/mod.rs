//! Static analysis: the possible results of a query.
//!
//! A risk query must return one sample: 1 if the risk applies, 0 if it does not. Many queries fail
//! to do so only on clusters where they were not tested.
//!
//! The analysis evaluates the query over abstract series (`vector`) instead of samples, such as
//! "one series without labels and with value 0 if `up` has samples". It is sound: unknown values
//! stay unknown, and bounds on the number of series are upper bounds.

mod binary;
mod condition;
mod evaluate;
mod results;
#[cfg(test)]
mod tests;
mod vector;

pub use results::{
    QueryAnalysis, ResultCoverage, SampleValues, SeriesCount, analyze, suspicious_matchers,
};
