//! PromQL: a parser with limits, static analysis of queries, and evaluation over a metrics
//! snapshot.
//!
//! [`Query::parse`] checks the limits of a query and parses it into an [`Expr`](expr::Expr); errors
//! contain the position. [`analysis::analyze`] determines the possible results without samples:
//! number of series, values, and when there is none. [`Snapshot`] holds samples, and [`evaluate()`]
//! evaluates a query over them like Prometheus, within a budget.
//!
//! The crate `promql-parser` parses the grammar, but it returns no positions and does not limit its
//! input. It also accepts syntax that only recent Prometheus versions support. So this crate splits
//! a query into tokens first, checks limits and syntax on them, and locates errors itself.
//! `fairway-oracles` compares parser and evaluation with a real Prometheus.
//!
//! | module | content |
//! | --- | --- |
//! | `query` | parsed queries |
//! | `token`, `limits` | tokens of a query, and limits that are checked before parsing |
//! | `convert` | conversion of the parser's syntax tree |
//! | `error`, `error_location` | parse errors and their positions |
//! | [`expr`] | the syntax tree |
//! | [`analysis`] | possible results of a query, without samples |
//! | [`snapshot`] | metrics snapshots, from text formats and responses of Prometheus |
//! | [`mod@evaluate`] | evaluation over a snapshot |
//! | `go_regex` | translation of Go's regular expressions, with a size limit |
//! | `labels` | labels of a series |

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
