//! PromQL: a parser with limits, static analysis of queries, and evaluation over a metrics
//! snapshot.
//!
//! * [`Query::parse`] parses a query; errors contain the position.
//! * [`expr`] is the syntax tree.
//! * [`Query::selectors`] returns the selectors of a query.
//! * [`analysis::analyze`] determines the possible results of a query: number of series, values,
//!   and when there is none.
//! * [`Snapshot`] holds samples, and [`evaluate()`] evaluates a query over them like Prometheus.

pub mod analysis;
mod convert;
mod error;
mod error_location;
pub mod evaluate;
pub mod expr;
mod go_regex;
mod labels;
mod limits;
mod query;
pub mod snapshot;
mod token;

pub use error::{ParseError, ParseProblem, TextPosition};
pub use evaluate::{EvaluationError, QueryValue, evaluate};
pub use labels::LabelSet;
pub use query::Query;
pub use snapshot::{Snapshot, SnapshotError};

#[doc(hidden)]
pub use self::{ParseProblem as Problem, QueryValue as Value};
