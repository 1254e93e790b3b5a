//! Protocol between the operator and the target release of a preflight.
//!
//! The operator starts the target release, which examines the cluster and writes its results to a
//! [`Document`]. The target release has no write access, so it requests the Jobs of component
//! checks ([`jobs`]). The operator verifies that each one is read-only, and creates objects that
//! [`vet`] builds from an allowlist of fields. The target release interprets the results of the
//! Jobs ([`check_result`]).
//!
//! Neither side trusts the other, and neither trusts a check. All readers have limits. A value of
//! the wrong type is converted, an unknown status counts as failed, and a placeholder replaces
//! findings beyond a limit. So a mistake never makes an update look safer than it is. This crate is
//! pure: it has no access to a cluster, to files or to the clock.
//!
//! | module | content |
//! | --- | --- |
//! | [`document`] | results of a preflight: checks, findings, progress |
//! | `reading`, `json`, `lenient` | parser for untrusted documents |
//! | [`limits`], `text` | limits of documents, and truncation of texts |
//! | [`check_result`] | result of a check, from its JSON or from its log and exit code |
//! | [`jobs`] | Job requests of the target release, and the answers of the operator |
//! | [`vet`] | verification of Job requests, and the objects that are created for them |
//! | [`kinds`] | kinds of these objects |
//! | [`consent`] | consent of an administrator that checks read Secrets |
//! | [`labels`] | labels and annotations of preflight objects |
//! | [`images`] | result of the check `images` |
//! | [`environment`] | environment variables of checks |
//! | [`record`] | stored results: a ConfigMap for each target release |

pub mod check_result;
pub mod consent;
pub mod document;
pub mod environment;
pub mod images;
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

pub use text::camel_case;

/// Version of the format of documents and results. Other versions are rejected.
pub const FORMAT: &str = "preflight-v1-json";
