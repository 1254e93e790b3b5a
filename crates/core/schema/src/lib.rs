//! Structural schemas of custom resources: pruning, defaulting and validation, with the error
//! messages of the API server. This crate is pure.
//!
//! CEL rules are not evaluated.
//!
//! * [`Schema`] is compiled once from a CRD and applied to objects.
//! * [`field_error`] has the error messages.
//! * [`pattern`] compiles regular expressions like the API server, [`lists`] has keys of list
//!   items.

mod accept;
pub mod field_error;
mod format;
pub mod lists;
mod number;
pub mod pattern;
mod required;
mod schema;
mod shape;
mod validate;

pub use accept::violations_of_default;
pub use field_error::{FieldError, FieldErrorKind};
pub use required::ZeroValue;
pub use schema::{ListKind, Schema, children, items};
pub use validate::{MAX_ERRORS, child};
