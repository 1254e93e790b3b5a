//! The risk ledger: the risks of updates, whether they apply to this cluster, whether an
//! administrator accepts them, and so which updates are recommended.
//!
//! This crate is pure. It uses no network and no clock; its results depend on its arguments, not on
//! their order. The data flow:
//!
//! 1. [`sources`] create [`ReportedRisk`]s from the state of the cluster; the update service's
//!    edges are [`CandidateUpdate`]s.
//! 2. [`Ledger::new`] adds both to the ledger.
//! 3. [`Ledger::evaluate`] returns the recommended updates, and the queries that it needs.
//! 4. [`Scheduler`](schedule::Scheduler) decides when to send them. The next evaluation uses their
//!    [`QueryOutcomes`].
//! 5. [`may_update`] is the risk gate.
//!
//! Invariant: no risk, however malformed, makes an update recommended that is not recommended
//! without the risk.
//!
//! | module | content |
//! | --- | --- |
//! | [`sources`] | risks that the state of the cluster causes, by part of the cluster |
//! | `risk`, `version_range` | risks, and the updates that they affect |
//! | `validation`, `definition` | validation of risks, and replacements for invalid ones |
//! | `ledger` | all risks by name; different definitions of a name are all kept |
//! | `rules`, `query_result` | evaluation of rules, and interpretation of query results |
//! | `query_policy` | policy for queries to the cluster's Prometheus |
//! | [`schedule`] | schedule of queries, without a clock |
//! | [`evaluations`] | stored results of queries, for explanations |
//! | `acceptance` | accepted risks and their terms |
//! | `verdict`, `upgradeable` | verdicts on updates, risk gate, condition `Upgradeable` |
//! | `evaluate`, `status_limits` | evaluation of the ledger, within the size limits of a status |
//! | [`alerts`] | alerts of a cluster |
//! | `text` | helpers for texts in conditions |

mod acceptance;
pub mod alerts;
mod definition;
mod evaluate;
pub mod evaluations;
mod ledger;
mod query_policy;
mod query_result;
mod risk;
mod rules;
pub mod schedule;
pub mod sources;
mod status_limits;
mod text;
mod upgradeable;
mod validation;
mod verdict;
mod version_range;

pub use acceptance::{
    ANNOTATION, ANNOTATION_BYTES, Acceptance, AcceptanceEnd, AcceptanceEndError, AcceptanceState,
    AcceptanceTerms,
};
pub use definition::{DOCS_URL, definition_hash};
pub use evaluate::{EvaluationInput, LedgerEvaluation, PreviousEvaluation};
pub use ledger::Ledger;
pub use query_policy::{QueryPolicy, QueryRefusal};
pub use query_result::{
    QueryFailure, QueryOutcome, QueryOutcomes, QueryResult, QueryResultType, Sample,
};
pub use risk::{AffectedUpdates, CandidateUpdate, ReportedRisk, Risk, RiskAssessment, RiskSource};
pub use status_limits::{OmissionReason, OmittedUpdate};
pub use verdict::{RiskExposure, RuleSupport, UnacceptedRisks, UpdateVerdict, may_update};
pub use version_range::{VersionRange, VersionRangeError};
