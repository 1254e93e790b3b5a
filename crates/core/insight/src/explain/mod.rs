//! Why: where a risk comes from and what is known about it; whether a version is offered, and what
//! stands against it.

mod acceptance;
mod listed;
mod origin;
mod risk;
mod rule;
mod update;
mod why_not;

use std::collections::BTreeSet;

use fairway_api::{ClusterOperator, ClusterVersion, Version};
use fairway_risk::evaluations::Evaluations;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use acceptance::Accepted;
pub use risk::{ConcernedUpdate, Definition, ExplainedRisk, Meaning, ReportedCondition};
pub use rule::{Rule, RuleEvaluation};
pub use update::{ExplainedUpdate, Offer, RiskOfUpdate};
pub use why_not::UpdateBlocker;

use crate::plan::NotOffered;
use crate::recommend::Verdict;
use listed::Listed;

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The risk of that name.
    Risk(String),
    /// The update to that version.
    Update(Version),
}

/// What is known.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// What the operator says about updates, and what the administrator accepts.
    pub version: &'a ClusterVersion,
    /// The components of the platform, which are a source of risks.
    pub components: &'a [ClusterOperator],
    /// What came of queries.
    pub notes: &'a Notes,
    /// Why the graph does not lead there, where somebody has looked.
    pub graph: Option<&'a NotOffered>,
}

/// What the operator has noted about queries.
#[derive(Clone, Debug, PartialEq)]
pub enum Notes {
    /// This.
    Known(Evaluations),
    /// It has noted nothing: no query was asked, or the operator does not take notes.
    NotThere,
    /// They cannot be read, and this is why.
    Unreadable(String),
}

impl Notes {
    /// When something was last noted: a recording was not made before that.
    pub fn latest(&self) -> Option<Timestamp> {
        self.evaluations()?.queries.iter().map(|evaluation| evaluation.at).max()
    }

    fn evaluations(&self) -> Option<&Evaluations> {
        match self {
            Self::Known(evaluations) => Some(evaluations),
            Self::NotThere | Self::Unreadable(_) => None,
        }
    }

    fn known(&self) -> EvaluationAvailability {
        let (omitted, why) = match self {
            Self::Known(evaluations) => (evaluations.omitted, None),
            Self::NotThere => (0, Some("the operator has not stored any".to_owned())),
            Self::Unreadable(why) => (0, Some(why.clone())),
        };
        EvaluationAvailability { available: why.is_none(), message: why, omitted }
    }
}

/// Whether the results of rule evaluations are available.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvaluationAvailability {
    /// Whether the results could be read.
    pub available: bool,
    /// Why they could not be read.
    pub message: Option<String>,
    /// Number of results that the operator did not publish.
    pub omitted: usize,
}

/// Explanation of a risk or an update.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Time at which the cluster was observed.
    #[schemars(with = "String")]
    pub observation_time: Timestamp,
    /// Version of the cluster.
    pub current: Option<String>,
    /// Whether the results of rule evaluations are available.
    pub evaluations: EvaluationAvailability,
    /// The risk or the update.
    #[serde(flatten)]
    pub subject: Explained,
}

/// Subject of an explanation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Explained {
    /// A risk.
    Risk(Box<ExplainedRisk>),
    /// An update.
    Update(Box<ExplainedUpdate>),
}

impl Explanation {
    /// Why the subject is as it is.
    pub fn of(subject: &Subject, known: &Known, now: Timestamp) -> Self {
        let listed = Listed::of(known.version);
        let subject = match subject {
            Subject::Risk(name) => Explained::Risk(Box::new(risk::explain(name, known, now))),
            Subject::Update(version) => {
                Explained::Update(Box::new(update::explain(version, known, now)))
            }
        };
        let current = listed.current().map(str::to_owned);
        Self { observation_time: now, current, evaluations: known.notes.known(), subject }
    }

    /// The answer in one word: whether something stands against an update.
    pub fn verdict(&self) -> Verdict {
        match &self.subject {
            Explained::Risk(risk) => risk.verdict(),
            Explained::Update(update) => update.verdict(),
        }
    }
}

/// The names of all risks that can be explained: those of updates, and those that are accepted.
pub fn names(version: &ClusterVersion) -> BTreeSet<&str> {
    let desired = version.spec.desired_update.as_ref();
    let accepted = desired.into_iter().flat_map(|update| &update.accept_risks);
    let accepted = accepted.map(|accepted| accepted.name.as_str());
    Listed::of(version).names().chain(accepted).collect()
}

#[cfg(test)]
mod tests;
