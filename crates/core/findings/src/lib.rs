//! What the two sides of a preflight say to each other.
//!
//! The release that runs starts the one that it is asked about; that one looks at the cluster and
//! says what it has found, in a [`Document`]. It asks for the Jobs of its operators' checks
//! ([`jobs`]), for it may write nothing itself, and understands what they answer ([`answer`]).
//! [`vet`] says which of them may run, and as what, and [`kinds`] what exists because of that. [`record`] is what is kept of all that, and
//! [`environment`] what a check finds around itself.
//!
//! Neither side trusts the other: whatever is read here has limits, and what is wrong with it is
//! said. Nothing here knows a cluster, a file or the time.

pub mod answer;
mod describe;
pub mod document;
pub mod environment;
pub mod jobs;
mod json;
pub mod kinds;
pub mod labels;
mod lenient;
pub mod limits;
mod reading;
pub mod record;
mod text;
pub mod vet;
mod words;

pub use document::{CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus};
pub use document::{Finding, Progress, Reason, Severity};
pub use json::Malformed;
pub use reading::{Expected, MAX_BYTES, ReadError, Reading};
pub use text::camel_case;

/// The format of documents and answers. One with another name is not read: it may mean anything.
pub const FORMAT: &str = "preflight-v1-json";
