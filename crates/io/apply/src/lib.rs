//! Server-side apply of single objects, with a merge for API servers that cannot apply an object.
//!
//! [`ObjectWriter`] reads and writes one object while its process is the leader. [`drift`] compares
//! the desired with the live object, so that callers write only objects that differ. An object that
//! the API server cannot merge is merged by [`three_way`] and written by PUT. [`ownership`] moves
//! fields that earlier operators wrote by update to the field manager [`FIELD_MANAGER`].
//!
//! | module | content |
//! | --- | --- |
//! | `object` | writer of one object |
//! | [`drift`] | drift detection by `managedFields` |
//! | [`canonical`] | comparison of values in different notation |
//! | [`ownership`] | field ownership and its migration |
//! | [`three_way`] | client-side three-way merge |
//! | `contention` | backoff of repeated drift corrections |
//! | `error` | errors, and the timeout of requests |

pub mod canonical;
mod contention;
pub mod drift;
mod error;
mod object;
pub mod ownership;
pub mod three_way;

pub use contention::{CONTENTION_RESET_INTERVAL, ContentionBackoff, REPAIR_BACKOFF};
pub use error::{REQUEST_TIMEOUT, WriteError, is_untypable, within_time};
pub use object::{ObjectWriter, dynamic};

/// The field manager of everything that Fairway applies.
pub const FIELD_MANAGER: &str = "fairway";

/// The label of all objects that the operator manages. It has no version, so it never changes.
pub const MANAGED: (&str, &str) = ("fairway.dev/managed", "true");
