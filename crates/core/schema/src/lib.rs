//! What the schema of a custom resource means for objects: which fields are pruned, what is filled
//! in, what is valid, and in which words an API server refuses the rest. This crate is pure.
//!
//! Rules that are expressions (CEL) are not looked at here.
//!
//! * A [`Schema`] is made ready once, and then asked about objects.
//! * [`field_error`] has the words.
//! * [`pattern`] reads regular expressions as the API server does, [`lists`] tells items apart.

mod accept;
mod embedded;
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
