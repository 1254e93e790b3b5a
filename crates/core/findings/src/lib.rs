//! Protocol between the operator and the target release of a preflight.
//!
//! The operator starts the target release, which examines the cluster and writes its results to a
//! [`Document`]. The target release requests the Jobs of component checks ([`jobs`]), because it
//! has no write access, and interprets their results ([`check_result`]). [`vet`] verifies that a
//! requested Job is read-only and builds the objects that are created for it; [`kinds`] lists their
//! kinds. [`record`] defines how the operator stores results, [`environment`] the environment
//! variables of checks.
//!
//! Neither side trusts the other: everything read here has limits, and errors are reported. This
//! crate is pure. It has no access to a cluster, to files or to the clock.

pub mod check_result;
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

pub use document::{CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus};
pub use document::{Finding, Progress, Reason, Severity};
pub use json::JsonError;
pub use reading::{ExpectedDocument, MAX_BYTES, ReadDocument, ReadError};

#[doc(hidden)]
pub use self::reading::ExpectedDocument as Expected;
pub use text::camel_case;

/// Version of the format of documents and results. Other versions are rejected.
pub const FORMAT: &str = "preflight-v1-json";
