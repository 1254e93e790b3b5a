//! One look at the ledger: what is recommended for this cluster now, and why not.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk, Release};
use fairway_api::{ClusterVersionStatus, Conditions as _, OperatorCondition, reason};
use jiff::Timestamp;

use crate::acceptance::Acceptance;
use crate::answer::Outcomes;
use crate::fit::{self, Told, Withheld};
use crate::ledger::Ledger;
use crate::look::Look;
use crate::policy::QueryPolicy;
use crate::upgradeable;
use crate::verdict::Verdict;

/// What a look at the ledger depends on.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// What is known from the cluster's metrics.
    pub outcomes: &'a Outcomes,
    /// Which queries may be sent.
    pub policy: &'a QueryPolicy,
    /// What the administrator accepts.
    pub acceptance: &'a Acceptance,
    /// What was said last: transition times survive.
    pub previous: &'a Previous,
    /// The time.
    pub now: Timestamp,
}

/// What was said last: by this operator, or by the one before it in the status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Previous {
    /// The updates with risks.
    pub conditional_updates: Vec<ConditionalUpdate>,
    /// The risks.
    pub conditional_update_risks: Vec<ConditionalUpdateRisk>,
    /// The condition `Upgradeable`.
    pub upgradeable: Option<OperatorCondition>,
}

/// What is recommended for this cluster, and why not: the parts of a ClusterVersion's status that
/// are about updates. All of it can be stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluated {
    /// The updates that are recommended, the latest version first.
    pub available_updates: Vec<Release>,
    /// The updates that risks concern, the latest version first.
    pub conditional_updates: Vec<ConditionalUpdate>,
    /// The risks of these updates, by name.
    pub conditional_update_risks: Vec<ConditionalUpdateRisk>,
    /// The condition `Upgradeable`; none where nothing stands against later minor versions.
    pub upgradeable: Option<OperatorCondition>,
    /// The queries on which all of this depends, those of the latest version first. The scheduler
    /// wants them.
    pub wanted_queries: Vec<String>,
    /// The updates for which the status has no room.
    pub withheld: Vec<Withheld>,
}

impl From<&ClusterVersionStatus> for Previous {
    fn from(status: &ClusterVersionStatus) -> Self {
        Self {
            conditional_updates: status.conditional_updates.clone(),
            conditional_update_risks: status.conditional_update_risks.clone(),
            upgradeable: status.conditions.find(reason::upgradeable::TYPE).cloned(),
        }
    }
}

impl From<&Evaluated> for Previous {
    fn from(evaluated: &Evaluated) -> Self {
        Self {
            conditional_updates: evaluated.conditional_updates.clone(),
            conditional_update_risks: evaluated.conditional_update_risks.clone(),
            upgradeable: evaluated.upgradeable.clone(),
        }
    }
}

impl Ledger {
    /// What is recommended for this cluster now.
    pub fn evaluate(&self, round: Round) -> Evaluated {
        let look = Look::new(self, round);
        let risks = look.risks();
        let told = self.offers.iter().map(|offer| look.told(&offer.release)).collect();
        let (told, withheld) = fit::fit(told, |name| risks.get(name).map_or(0, fit::size));
        let shown: BTreeSet<&str> = told.iter().flat_map(Told::risk_names).collect();
        let recommended = told.iter().filter(|told| told.recommended);
        Evaluated {
            available_updates: recommended.map(|told| told.release.clone()).collect(),
            conditional_update_risks: shown
                .iter()
                .filter_map(|name| risks.get(name))
                .cloned()
                .collect(),
            conditional_updates: told.into_iter().filter_map(|told| told.conditional).collect(),
            upgradeable: upgradeable::condition(&look, &risks),
            wanted_queries: look.wanted_queries(),
            withheld: self.withheld.iter().cloned().chain(withheld).collect(),
        }
    }

    /// What is known about an update to the release, offered or not.
    pub fn verdict(&self, release: &Release, round: Round) -> Verdict {
        Look::new(self, round).verdict(release)
    }
}
