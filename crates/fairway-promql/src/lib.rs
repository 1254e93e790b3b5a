//! PromQL: queries are read with limits, and looked at without running them.
//!
//! * [`Query::parse`] reads a query; an error says where it is wrong.
//! * [`expr`] is what a query says, as plain data for whoever evaluates it.
//! * [`Query::selectors`] is what a query reads.
//! * [`analysis::outcome`] is what a query can yield: how many series, which values, and where
//!   nothing at all.

pub mod analysis;
mod convert;
mod dialect;
mod error;
pub mod expr;
mod limits;
mod locate;
mod pattern;
mod query;
mod time;
mod token;

pub use error::{ParseError, Position, Problem};
pub use query::Query;
