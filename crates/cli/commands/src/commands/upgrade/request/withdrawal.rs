//! Withdrawal of a request.

use fairway_api::cluster_version::Update;
use fairway_api::image::same_content;
use fairway_api::{ClusterVersion, ClusterVersionStatus, Version};
use fairway_insight::request::{has_architecture, is_desired, is_rollout_in_progress};

use super::super::change::{Change, desired_update_patch};
use super::super::preflight::update_in_progress;
use super::super::release::ReleaseReference;
use super::decision::{names_of, verify_release};
use super::outcome::{Action, UpdateOutcome};
use crate::foreign_text::OneLine;

/// Withdraws the request and keeps the accepted risks.
pub(super) fn decide(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
) -> anyhow::Result<Change<UpdateOutcome>> {
    let default = Update::default();
    let requested = cluster_version.spec.desired_update.as_ref().unwrap_or(&default);
    if !requested.names_a_release() && requested.mode.is_none() {
        return Ok(Change::none(UpdateOutcome::new(Action::NoRequest)));
    }
    // A withdrawn preflight must not withdraw the update in progress, too.
    let continued = requested.mode.as_ref().and_then(|_| update_in_progress(status));
    let update =
        Update { accept_risks: requested.accept_risks.clone(), ..continued.unwrap_or_default() };
    let action = action(requested, status);
    let consequence = (action == Action::Withdrawn).then(|| consequence(status));
    Ok(Change {
        patch: Some(desired_update_patch(cluster_version, &update)?),
        verify: verify_release(&update),
        outcome: UpdateOutcome {
            release: Some(ReleaseReference::requested(requested)),
            accept_risks: names_of(&update.accept_risks),
            warnings: consequence.into_iter().collect(),
            update,
            ..UpdateOutcome::new(action)
        },
    })
}

/// Action of the withdrawal of a request.
fn action(requested: &Update, status: &ClusterVersionStatus) -> Action {
    let fits = requested.architecture().is_none_or(|one| has_architecture(status, one));
    if requested.mode.is_some() {
        Action::CancelledPreflight
    } else if !is_desired(status, requested) {
        if fits { Action::Cancelled } else { Action::CancelledMultiArch }
    } else if is_rollout_in_progress(status) {
        Action::Withdrawn
    } else {
        Action::Cleared
    }
}

/// Effect of the withdrawal of an update in progress. The operator allows a rollback only to the
/// previous release of the same minor version.
fn consequence(status: &ClusterVersionStatus) -> String {
    let desired = &status.desired;
    let before = status.history.iter().find(|entry| !same_content(&entry.image, &desired.image));
    let before = before.and_then(|entry| Version::parse(entry.version.as_deref()?).ok());
    let target = Version::parse(&desired.version).ok();
    match (before, target) {
        (Some(before), Some(target)) if before.stream() == target.stream() => format!(
            "the update has started: the operator rolls back to {before}, unless the operator of \
             {target} is already running; in that case, the update continues"
        ),
        _ => format!(
            "the update has started and continues to {}: a rollback is possible only to the \
             previous release of the same minor version",
            OneLine(&desired.version)
        ),
    }
}
