//! The risk ledger: what may go wrong with an update, whether it concerns this cluster, whether
//! the administrator takes it, and so what is recommended.
//!
//! This crate is pure. It knows no network and no clock; what it decides depends on its arguments,
//! and on no order of them. The way through it:
//!
//! 1. [`sources`] make [`Concern`]s of what is found in the cluster; the update service's edges
//!    are [`Candidate`]s.
//! 2. [`Ledger::new`] enters both.
//! 3. [`Ledger::evaluate`] says what is recommended, with what is known so far, and which queries
//!    would tell more.
//! 4. [`Scheduler`](schedule::Scheduler) says when to ask them; their [`Outcomes`] go into the next
//!    evaluation.
//! 5. [`gate::may_update`] is the one gate.
//!
//! One promise holds throughout: no risk, however malformed, makes an update recommended that is
//! not recommended without it.

mod acceptance;
pub mod alerts;
mod answer;
mod book;
mod definition;
mod evaluate;
pub mod evaluations;
mod fit;
pub mod gate;
mod ledger;
mod legal;
mod look;
mod policy;
mod range;
mod risk;
mod rules;
mod sample;
pub mod schedule;
pub mod sources;
mod text;
mod upgradeable;
mod verdict;

pub use acceptance::{
    ANNOTATION, ANNOTATION_BYTES, Acceptance, Standing, Terms, Until, UntilError,
};
pub use answer::{Answer, Failure, Outcome, Outcomes, ResultType};
pub use definition::{DOCS, definition_hash};
pub use evaluate::{Evaluated, Previous, Round};
pub use fit::{Because, Withheld};
pub use ledger::Ledger;
pub use policy::{QueryPolicy, Refused};
pub use range::{Range, RangeError};
pub use risk::{Candidate, Claim, Concern, Risk, Source, Targets};
pub use sample::Sample;
pub use verdict::{Exposure, Rules, Verdict};
