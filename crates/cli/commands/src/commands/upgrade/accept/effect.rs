//! What an acceptance changes for the updates that are listed.

use fairway_api::cluster_version::ConditionalUpdate;
use fairway_api::image::same_content;
use fairway_api::reason::{recommended, release_accepted};
use fairway_api::{ClusterVersion, ClusterVersionStatus, Conditions as _};
use fairway_risk::Acceptance;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::risks::{self, Exposure};

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
    /// What the acceptance changes for updates that have one of the risks named in `changed`.
    pub(super) fn of(
        cluster_version: &ClusterVersion,
        acceptance: &Acceptance,
        changed: &[&str],
        now: Timestamp,
    ) -> Self {
        let Some(status) = &cluster_version.status else { return Self::default() };
        let mut effect = Self::default();
        let concerned = status.conditional_updates.iter().filter(|update| {
            let names = risks::names(update);
            changed.iter().any(|name| names.contains(name))
        });
        for update in concerned {
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
        let waiting = waiting(cluster_version, status)
            .filter(|update| changed.iter().any(|name| risks::names(update).contains(name)));
        if let Some(update) = waiting {
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
        for held in [not_recommended, no_longer_recommended] {
            held.sort_by_cached_key(|held| risks::latest_first(&held.version));
        }
    }
}

/// The risks of an update that apply or may apply, and are not accepted. That an update is not
/// offered can be accepted, but makes it no more recommended.
fn open_risks(
    status: &ClusterVersionStatus,
    update: &ConditionalUpdate,
    acceptance: &Acceptance,
    now: Timestamp,
) -> Vec<String> {
    let open = risks::names(update).into_iter().filter(|name| {
        let hash = risks::definition_hash(status, name);
        let standing = acceptance.standing(name, &update.release.version, &hash, now);
        let exposure = Exposure::of(status, update, name, standing.is_accepted());
        let never_recommended = *name == recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code;
        exposure != Exposure::NotExposed && (never_recommended || !standing.is_accepted())
    });
    open.map(str::to_owned).collect()
}

/// The update that was asked for and is held back by its risks.
fn waiting<'a>(
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
