//! The verdict on any release, offered or not: what the ledger says of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_risk::{Acceptance, Ledger, Outcomes, Previous, QueryPolicy, Round, Source, Verdict};
use jiff::Timestamp;

/// Everything on which a verdict depends, but the time.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    pub(super) ledger: Arc<Ledger>,
    pub(super) outcomes: Outcomes,
    pub(super) policy: QueryPolicy,
    pub(super) acceptance: Acceptance,
    pub(super) previous: Arc<Previous>,
}

impl Judge {
    /// What is known about an update to the release.
    pub fn verdict(&self, release: &Release, now: Timestamp) -> Verdict {
        self.ledger.verdict(release, self.round(now))
    }

    /// The risks of which only the update service and alerts speak: they advise against an update,
    /// while all others are about a cluster that is not ready for it.
    pub fn advice(&self) -> BTreeSet<String> {
        let advises = |source: &&Source| matches!(source, Source::Graph | Source::Alert);
        let sources = self.ledger.sources().into_iter();
        let advice = sources.filter(|(_, sources)| sources.iter().all(advises));
        advice.map(|(name, _)| name.to_owned()).collect()
    }

    pub(super) fn round(&self, now: Timestamp) -> Round<'_> {
        Round {
            outcomes: &self.outcomes,
            policy: &self.policy,
            acceptance: &self.acceptance,
            previous: &self.previous,
            now,
        }
    }
}

/// What was said before is left out: it is what is said now, once that was published.
impl PartialEq for Judge {
    fn eq(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.ledger, &other.ledger) || self.ledger == other.ledger)
            && self.outcomes == other.outcomes
            && self.acceptance == other.acceptance
            && self.policy == other.policy
    }
}

#[cfg(test)]
mod tests {
    use fairway_risk::{Candidate, Concern, Risk, Targets};
    use fairway_testkit::objects::release;

    use super::*;

    #[test]
    fn what_the_cluster_says_itself_is_no_advice() {
        let risk = |name: &str| Risk::always(name, "It breaks.", "https://example.com");
        let edge = ["DiskLoss", "Both"].map(|name| risk(name).into()).to_vec();
        let candidates = vec![Candidate { release: release("5.1.0"), risks: edge }];
        let says = |name: &str, source| Concern { risk: risk(name), source, targets: Targets::All };
        let concerns = vec![
            says("Alert", Source::Alert),
            says("Both", Source::Overrides),
            says("Updating", Source::Updating),
            says("Preflight", Source::Preflight),
        ];
        let ledger = Arc::new(Ledger::new("5.0.0", candidates, concerns));
        let advice = Judge { ledger, ..Judge::default() }.advice();
        assert_eq!(advice, ["Alert", "DiskLoss"].map(str::to_owned).into());
    }
}
