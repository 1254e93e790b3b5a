//! The verdict on any release, offered or not: what the ledger says of it.

use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_risk::{Acceptance, Ledger, Outcomes, Previous, QueryPolicy, Round, Verdict};
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
