//! PromQL: queries are read with limits, looked at without running them, and evaluated over
//! samples at hand.
//!
//! * [`Query::parse`] reads a query; an error says where it is wrong.
//! * [`expr`] is what a query says, as plain data for whoever evaluates it.
//! * [`Query::selectors`] is what a query reads.
//! * [`analysis::outcome`] is what a query can yield: how many series, which values, and where
//!   nothing at all.
//! * [`Snapshot`] is samples at hand, and [`evaluate()`] what a query yields over them, as
//!   Prometheus would say.

pub mod analysis;
mod convert;
mod dialect;
mod error;
pub mod evaluate;
pub mod expr;
mod labels;
mod limits;
mod locate;
mod pattern;
mod query;
pub mod snapshot;
mod time;
mod token;

pub use error::{ParseError, Position, Problem};
pub use evaluate::{EvaluationError, Value, evaluate};
pub use labels::LabelSet;
pub use query::Query;
pub use snapshot::{Snapshot, SnapshotError};
