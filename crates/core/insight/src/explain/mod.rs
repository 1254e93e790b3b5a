//! Explanations of risks and updates: sources, rules, exposure, acceptance and blockers.
//!
//! | module | content |
//! | --- | --- |
//! | `risk` | explanation of a risk |
//! | `rule` | rules of a risk and their evaluations |
//! | `update` | explanation of an update |
//! | `blockers` | blockers of an update besides its risks |
//! | `listed` | updates and risks that ClusterVersion lists |

mod blockers;
mod listed;
mod risk;
mod rule;
mod update;

use std::collections::BTreeSet;

use fairway_api::{ClusterOperator, ClusterVersion, Version};
use fairway_risk::evaluations::Evaluations;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use blockers::UpdateBlocker;
pub use risk::{
    Accepted, AffectedUpdate, Definition, ExplainedRisk, ReportedCondition, RiskEffect,
};
pub use rule::{Rule, RuleEvaluation};
pub use update::{ExplainedUpdate, Offer, RiskOfUpdate};

use crate::Verdict;
use crate::plan::NotOffered;
use listed::ListedUpdates;

/// Subject of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The risk of this name.
    Risk(String),
    /// The update to this version.
    Update(Version),
}

/// State of a cluster that an explanation uses.
#[derive(Clone, Copy, Debug)]
pub struct ExplainInput<'a> {
    /// ClusterVersion of the cluster.
    pub version: &'a ClusterVersion,
    /// ClusterOperators, which are a source of risks.
    pub components: &'a [ClusterOperator],
    /// Results of rule evaluations.
    pub evaluations: &'a StoredEvaluations,
    /// Why the update graph does not offer the update, if it was checked.
    pub graph: Option<&'a NotOffered>,
}

/// Results of rule evaluations that the operator stores in a ConfigMap.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredEvaluations {
    /// Stored results.
    Known(Evaluations),
    /// No results: no risk has a query, or the operator does not store them.
    Missing,
    /// The results cannot be read, for this reason.
    Unreadable(String),
}

impl StoredEvaluations {
    /// Time of the latest evaluation. A recording is not older.
    pub fn latest(&self) -> Option<Timestamp> {
        self.evaluations()?.queries.iter().map(|evaluation| evaluation.at).max()
    }

    fn evaluations(&self) -> Option<&Evaluations> {
        match self {
            Self::Known(evaluations) => Some(evaluations),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }

    fn availability(&self) -> EvaluationAvailability {
        let (omitted, why) = match self {
            Self::Known(evaluations) => (evaluations.omitted, None),
            Self::Missing => (0, Some("the operator has not stored any".to_owned())),
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
    /// Explains a risk or an update.
    pub fn of(subject: &Subject, input: &ExplainInput, now: Timestamp) -> Self {
        let listed = ListedUpdates::of(input.version);
        let subject = match subject {
            Subject::Risk(name) => Explained::Risk(Box::new(risk::explain(name, input, now))),
            Subject::Update(version) => {
                Explained::Update(Box::new(update::explain(version, input, now)))
            }
        };
        let current = listed.current().map(str::to_owned);
        Self {
            observation_time: now,
            current,
            evaluations: input.evaluations.availability(),
            subject,
        }
    }

    /// Whether the risk, or anything else, blocks an update.
    pub fn verdict(&self) -> Verdict {
        match &self.subject {
            Explained::Risk(risk) => risk.verdict(),
            Explained::Update(update) => update.verdict(),
        }
    }
}

/// Names of all risks that can be explained: those of updates and accepted ones.
pub fn names(version: &ClusterVersion) -> BTreeSet<&str> {
    let desired = version.spec.desired_update.as_ref();
    let accepted = desired.into_iter().flat_map(|update| &update.accept_risks);
    let accepted = accepted.map(|accepted| accepted.name.as_str());
    ListedUpdates::of(version).names().chain(accepted).collect()
}

#[cfg(test)]
mod tests;
