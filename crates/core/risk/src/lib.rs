//! The risk ledger: the risks of updates, whether they apply to this cluster, whether an
//! administrator accepts them, and so which updates are recommended.
//!
//! This crate is pure. It uses no network and no clock; its results depend on its arguments, not on
//! their order. The data flow:
//!
//! 1. [`sources`] create [`ReportedRisk`]s from the state of the cluster; the update service's edges
//!    are [`CandidateUpdate`]s.
//! 2. [`Ledger::new`] adds both to the ledger.
//! 3. [`Ledger::evaluate`] returns the recommended updates, and the queries that it needs.
//! 4. [`Scheduler`](schedule::Scheduler) decides when to send them. The next evaluation uses their
//!    [`QueryOutcomes`].
//! 5. [`may_update`] is the risk gate.
//!
//! Invariant: no risk, however malformed, makes an update recommended that is not recommended
//! without the risk.

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

#[doc(hidden)]
pub use self::{
    AcceptanceEnd as Until, AcceptanceState as Standing, AcceptanceTerms as Terms,
    AffectedUpdates as Targets, CandidateUpdate as Candidate, DOCS_URL as DOCS,
    EvaluationInput as Round, LedgerEvaluation as Evaluated, OmissionReason as Because,
    OmittedUpdate as Withheld, PreviousEvaluation as Previous, QueryFailure as Failure,
    QueryOutcome as Outcome, QueryOutcomes as Outcomes, QueryRefusal as Refused,
    QueryResult as Answer, QueryResultType as ResultType, ReportedRisk as Concern,
    RiskAssessment as Claim, RiskExposure as Exposure, RiskSource as Source,
    UpdateVerdict as Verdict, VersionRange as Range, VersionRangeError as RangeError,
};

#[doc(hidden)]
pub mod gate {
    pub use crate::verdict::{UnacceptedRisks as Refusal, may_update};
}
