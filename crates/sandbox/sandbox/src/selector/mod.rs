//! Which objects a request is about: label selectors and field selectors, read and refused as the
//! API server does.

mod field;
mod label;
mod lexer;
mod parser;
mod requirement;
pub mod validate;

#[cfg(test)]
mod tests;

pub use field::{Field, FieldSelector, FieldSelectorError};
pub use label::{LabelSelector, LabelSelectorError};
pub use requirement::RequirementError;

/// A selector comes in a URL, of which servers take a mebibyte at most; nobody writes a tenth of it.
pub const MAX_LENGTH: usize = 64 * 1024;

/// Every object of a list is held against every requirement.
pub const MAX_REQUIREMENTS: usize = 1000;
