//! Whether an update to a release that was read may begin.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{Release, UpdateHistory};
use fairway_api::{OperatorCondition, Version};
use fairway_risk::{Exposure, Verdict, gate};
use jiff::{SignedDuration, Timestamp};

use super::accepted_risks::{self, Overridden};
use super::condition::{self, Named};
use super::guards::{self, Step};
use super::resolve::Request;
use crate::settings::{OnUpdate, UnacceptedRisks};
use crate::stage::preflight::Outcome;

/// How old what a preflight says may be for a minor version to be skipped: somebody looks at it one
/// day, and updates the next.
const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);

/// An update that is about to begin.
pub(super) struct Case<'a> {
    /// What was asked for.
    pub(super) request: &'a Request,
    /// The version that the cluster has, or to which it is on its way.
    pub(super) from: &'a Version,
    /// The release, as it describes itself.
    pub(super) release: &'a Release,
    /// Its version.
    pub(super) to: &'a Version,
    /// The release that the cluster had before this one.
    pub(super) previous: Option<&'a UpdateHistory>,
    /// What the ledger says of it.
    pub(super) verdict: &'a Verdict,
    /// The risks of which only the update service and alerts speak.
    pub(super) advice: &'a BTreeSet<String>,
    /// Whether the update service offers it.
    pub(super) offered: bool,
    /// What a preflight of it says, if there was one.
    pub(super) looked_at: Option<&'a Outcome>,
    /// What becomes of what it says.
    pub(super) on_update: OnUpdate,
    /// Whether the update service has said which updates there are.
    pub(super) is_answered: bool,
    /// Whether a channel was chosen.
    pub(super) has_channel: bool,
    /// Why its signature does not count, where that was forced.
    pub(super) unverified: Option<&'a str>,
    /// What becomes of advice that nobody took.
    pub(super) unaccepted: UnacceptedRisks,
    /// When it is decided.
    pub(super) now: Timestamp,
}

impl Case<'_> {
    /// Whether a complete preflight of this very release left nothing open, and not too long ago.
    fn is_checked(&self) -> bool {
        let is_accepted = |name: &String| {
            let mut exposures = self.verdict.exposures.iter();
            exposures.any(|risk| risk.name == *name && risk.standing.is_accepted())
        };
        let is_young = |left: Timestamp| self.now.duration_since(left) <= MAX_AGE;
        self.looked_at.is_some_and(|it| {
            it.complete && it.left.is_none_or(is_young) && it.findings.iter().all(is_accepted)
        })
    }

    /// What has to be accepted. Advice is only recorded where that is enough; and nothing binds
    /// whoever withdraws an update: risks are about what lies ahead.
    fn binding(&self) -> Verdict {
        let binds = |risk: &&Exposure| match self.unaccepted {
            _ if self.request.withdrawn => false,
            UnacceptedRisks::Gate => true,
            UnacceptedRisks::Record => !self.advice.contains(&risk.name),
        };
        let exposures = self.verdict.exposures.iter().filter(binds).cloned().collect();
        Verdict { release: self.verdict.release.clone(), exposures }
    }
}

/// What goes into the history, or why the update does not begin.
pub(super) fn decide(case: &Case) -> Result<Option<String>, Box<OperatorCondition>> {
    let Case { request, from, to, verdict, .. } = *case;
    if request.version.as_deref().is_some_and(|version| version != case.release.version) {
        let refused = condition::other_version(&Named::from(request), &case.release.version);
        return Err(Box::new(refused));
    }
    let (previous, offered, checked) = (case.previous, case.offered, case.is_checked());
    let objections = guards::objections(Step { from, to, previous, offered, checked });
    let risks = gate::may_update(&case.binding()).err();
    let named = Named { version: Some(&case.release.version), image: &request.image };
    match (objections.as_slice(), &risks) {
        _ if request.forced => {}
        // Also where risks are only recorded: it would be recorded that nobody knows.
        ([], _) if !request.withdrawn && verdict.unaccepted().any(|risk| risk.awaited) => {
            return Err(Box::new(condition::waiting()));
        }
        ([], None) => {}
        ([], Some(risks)) => return Err(Box::new(condition::risky(risks))),
        (objections, risks) => {
            return Err(Box::new(condition::guarded(&named, objections, risks.as_ref())));
        }
    }
    Ok(accepted_risks::text(&Overridden {
        from: &from.to_string(),
        to: &case.release.version,
        verdict,
        offered,
        is_answered: case.is_answered,
        has_channel: case.has_channel,
        on_update: case.on_update,
        forced: &objections,
        unaccepted: risks.as_ref(),
        unverified: case.unverified,
    }))
}

#[cfg(test)]
mod tests;
