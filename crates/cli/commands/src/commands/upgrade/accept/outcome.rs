//! Result of `fairway upgrade accept`, and its effect on updates.

use std::fmt;

use fairway_api::cluster_version::ConditionalUpdate;
use fairway_api::image::same_content;
use fairway_api::reason::{recommended, release_accepted};
use fairway_api::{ClusterVersion, ClusterVersionStatus, Conditions as _};
use fairway_risk::{Acceptance, AcceptanceTerms};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::acceptance::TermsSuffix;
use super::super::risks::{self, Exposure};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// Changes of the accepted risks, and their effect on updates.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AcceptOutcome {
    /// Whether this is a dry run.
    pub(super) dry_run: bool,
    /// Risks that are newly accepted, or accepted with other terms.
    pub(super) accepted: Vec<Accepted>,
    /// Names of risks that are no longer accepted.
    pub(super) removed: Vec<String>,
    /// Names of risks that were already accepted with the same terms.
    pub(super) unchanged: Vec<String>,
    /// Names of all accepted risks: `spec.desiredUpdate.acceptRisks`.
    pub(super) accept_risks: Vec<String>,
    /// Effect on updates.
    #[serde(flatten)]
    pub(super) effect: Effect,
    /// Probable mistakes in the arguments.
    pub(super) warnings: Vec<String>,
}

/// Newly accepted risk.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the JSON field is `previouslyAccepted`")]
pub(super) struct Accepted {
    /// Name of the risk.
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) terms: AcceptanceTerms,
    /// Whether the risk was already accepted with other terms.
    pub(super) previously_accepted: bool,
}

impl AcceptOutcome {
    /// Exit status: `NewRisks` if the requested update has further risks.
    pub(super) fn exit_status(&self) -> ExitStatus {
        let accepts = !self.accepted.is_empty();
        match &self.effect.blocked_update {
            Some(_) if accepts => ExitStatus::NewRisks,
            _ => ExitStatus::Success,
        }
    }
}

/// Changes of the listed updates once the operator has re-evaluated the risks.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Effect {
    /// Versions that become recommended, latest first.
    pub(super) newly_recommended: Vec<String>,
    /// Updates with a newly accepted risk that other risks still block, latest first.
    pub(super) not_recommended: Vec<BlockedUpdate>,
    /// Updates that are no longer recommended, latest first.
    pub(super) no_longer_recommended: Vec<BlockedUpdate>,
    /// Version of the requested update that the acceptance unblocks.
    pub(super) unblocked_update: Option<String>,
    /// Requested update that other risks still block.
    pub(super) blocked_update: Option<BlockedUpdate>,
}

/// Update with unaccepted risks.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct BlockedUpdate {
    /// Version of the target release.
    pub(super) version: String,
    /// Names of the unaccepted risks.
    pub(super) risks: Vec<String>,
}

impl Effect {
    /// Effect on updates that have one of the risks in `changed`.
    pub(super) fn of(
        cluster_version: &ClusterVersion,
        acceptance: &Acceptance,
        changed: &[&str],
        now: Timestamp,
    ) -> Self {
        let Some(status) = &cluster_version.status else { return Self::default() };
        let mut effect = Self::default();
        let affected = status.conditional_updates.iter().filter(|update| {
            let names = risks::names(update);
            changed.iter().any(|name| names.contains(name))
        });
        for update in affected {
            let version = update.release.version.clone();
            let risks = open_risks(status, update, acceptance, now);
            match (update.conditions.is_true(recommended::TYPE), risks.is_empty()) {
                (true, true) => {}
                (false, true) => effect.newly_recommended.push(version),
                (false, false) => effect.not_recommended.push(BlockedUpdate { version, risks }),
                (true, false) => {
                    effect.no_longer_recommended.push(BlockedUpdate { version, risks });
                }
            }
        }
        effect.sort();
        let requested = blocked_request(cluster_version, status)
            .filter(|update| changed.iter().any(|name| risks::names(update).contains(name)));
        if let Some(update) = requested {
            let version = update.release.version.clone();
            let risks = open_risks(status, update, acceptance, now);
            if risks.is_empty() {
                effect.unblocked_update = Some(version);
            } else {
                effect.blocked_update = Some(BlockedUpdate { version, risks });
            }
        }
        effect
    }

    fn sort(&mut self) {
        let Self { newly_recommended, not_recommended, no_longer_recommended, .. } = self;
        newly_recommended.sort_by_cached_key(|version| risks::latest_first(version));
        for updates in [not_recommended, no_longer_recommended] {
            updates.sort_by_cached_key(|update| risks::latest_first(&update.version));
        }
    }
}

/// Unaccepted risks of an update that apply or may apply. An update that is not offered never becomes
/// recommended, even if that risk is accepted.
fn open_risks(
    status: &ClusterVersionStatus,
    update: &ConditionalUpdate,
    acceptance: &Acceptance,
    now: Timestamp,
) -> Vec<String> {
    let open = risks::names(update).into_iter().filter(|name| {
        let hash = risks::definition_hash(status, name);
        let acceptance_state = acceptance.state(name, &update.release.version, &hash, now);
        let exposure = Exposure::of(status, update, name, acceptance_state.is_accepted());
        let never_recommended = *name == recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code;
        exposure != Exposure::NotExposed && (never_recommended || !acceptance_state.is_accepted())
    });
    open.map(str::to_owned).collect()
}

/// Requested update that its risks block.
fn blocked_request<'a>(
    cluster_version: &ClusterVersion,
    status: &'a ClusterVersionStatus,
) -> Option<&'a ConditionalUpdate> {
    let desired = cluster_version.spec.desired_update.as_ref().filter(|one| one.is_update())?;
    let accepted = status.conditions.find(release_accepted::TYPE)?;
    let unaccepted = release_accepted::UNACCEPTED_RISKS.code;
    if accepted.reason.as_deref() != Some(unaccepted) {
        return None;
    }
    status.conditional_updates.iter().find(|update| {
        let image = desired.image().is_none_or(|image| same_content(image, &update.release.image));
        let version = desired.version().is_none_or(|version| version == update.release.version);
        image && version
    })
}

impl fmt::Display for AcceptOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            f.write_str("Dry run, nothing changed. Without --dry-run:\n\n")?;
        }
        for risk in &self.accepted {
            let how = if risk.previously_accepted { "Accepted with new terms" } else { "Accepted" };
            writeln!(f, "{how}: {}{}", OneLine(&risk.name), TermsSuffix(&risk.terms))?;
        }
        for name in &self.unchanged {
            writeln!(f, "Already accepted: {}", OneLine(name))?;
        }
        for name in &self.removed {
            writeln!(f, "No longer accepted: {}", OneLine(name))?;
        }
        if self.accepted.is_empty() && self.removed.is_empty() {
            writeln!(f, "No change.")?;
        }
        write!(f, "{}", self.effect)?;
        if self.accept_risks.is_empty() {
            f.write_str("No risks are accepted.")
        } else {
            write!(f, "Accepted risks: {}", OneLine(&self.accept_risks.join(", ")))
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return Ok(());
        }
        writeln!(f, "\nAfter the operator has re-evaluated the updates:")?;
        if let Some(version) = &self.unblocked_update {
            writeln!(f, "  the pending update to {} continues", OneLine(version))?;
        }
        if let Some(update) = &self.blocked_update {
            let version = OneLine(&update.version);
            writeln!(f, "  the requested update to {version} is still blocked by {update}")?;
        }
        for version in &self.newly_recommended {
            writeln!(f, "  {} becomes recommended", OneLine(version))?;
        }
        for update in &self.not_recommended {
            writeln!(
                f,
                "  {} is still not recommended because of {update}",
                OneLine(&update.version)
            )?;
        }
        for update in &self.no_longer_recommended {
            writeln!(
                f,
                "  {} is no longer recommended because of {update}",
                OneLine(&update.version)
            )?;
        }
        writeln!(f)
    }
}

impl fmt::Display for BlockedUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", OneLine(&self.risks.join(", ")))
    }
}
