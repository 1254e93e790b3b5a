//! Structural schemas of custom resources: pruning, defaulting and validation, with the error
//! messages of the API server. This crate is pure.
//!
//! [`Schema::new`] compiles a schema from a CRD once. [`Schema::prune`] and
//! [`Schema::set_defaults`] change an object as the API server does before it stores one, and
//! [`Schema::violations`] returns [`FieldError`]s. CEL rules are not evaluated.
//!
//! | module | content |
//! | --- | --- |
//! | `schema` | compiled schemas |
//! | `accept` | pruning, defaulting and validation of an object |
//! | `shape` | pruning and defaulting |
//! | `validate` | validation of values |
//! | [`lists`] | unique items of sets and maps, types of embedded resources |
//! | `format`, `number` | string formats and numbers, as in Go |
//! | [`pattern`] | regular expressions, as the API server compiles them |
//! | `required` | zero values of required fields |
//! | [`field_error`] | field errors with the messages of the API server |

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
