//! Server-side apply of single objects, with a fallback for API servers that cannot merge an object.
//!
//! [`ObjectWriter`] reads and writes one object. [`drift`] compares live and desired state using
//! `managedFields`. [`three_way`] merges where the API server cannot. [`ownership`] moves fields that
//! earlier operators wrote by update to the field manager [`FIELD_MANAGER`].

pub mod canonical;
pub mod drift;
mod error;
mod object;
pub mod ownership;
pub mod three_way;

pub use error::{REQUEST_TIMEOUT, WriteError, is_untypable, within_time};
pub use object::{ObjectWriter, dynamic};

/// The field manager of everything that Fairway applies.
pub const FIELD_MANAGER: &str = "fairway";

/// The label of all objects that the operator manages. It has no version, so it never changes.
pub const MANAGED: (&str, &str) = ("fairway.dev/managed", "true");
