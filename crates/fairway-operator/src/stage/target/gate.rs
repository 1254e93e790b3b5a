//! Whether an update to a release that was read may begin.

use fairway_api::cluster_version::{Release, UpdateHistory};
use fairway_api::{OperatorCondition, Version};
use fairway_risk::{Verdict, gate};

use super::accepted_risks::{self, Overridden};
use super::condition::{self, Named};
use super::guards::{self, Step};
use super::resolve::Request;
use crate::settings::UnacceptedRisks;

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
    /// Whether the update service offers it.
    pub(super) offered: bool,
    /// Whether a channel was chosen.
    pub(super) has_channel: bool,
    /// Why its signature does not count, where that was forced.
    pub(super) unverified: Option<&'a str>,
    /// What risks do that nobody accepted.
    pub(super) unaccepted: UnacceptedRisks,
}

/// What goes into the history, or why the update does not begin.
pub(super) fn decide(case: &Case) -> Result<Option<String>, Box<OperatorCondition>> {
    let Case { request, from, to, verdict, .. } = *case;
    if request.version.as_deref().is_some_and(|version| version != case.release.version) {
        let refused = condition::other_version(&Named::from(request), &case.release.version);
        return Err(Box::new(refused));
    }
    // There is no preflight whose findings could be asked for.
    let (previous, offered, checked) = (case.previous, case.offered, false);
    let objections = guards::objections(Step { from, to, previous, offered, checked });
    let risks = gate::may_update(verdict).err();
    // Risks are about what lies ahead, and whoever withdraws an update wants to be back.
    let asks = case.unaccepted == UnacceptedRisks::Gate && !request.withdrawn;
    let risks = risks.filter(|_| asks);
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
        has_channel: case.has_channel,
        forced: &objections,
        unverified: case.unverified,
    }))
}

#[cfg(test)]
mod tests;
