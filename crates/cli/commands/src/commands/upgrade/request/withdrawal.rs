//! What comes of it when a request is withdrawn.

use fairway_api::cluster_version::{Update, UpdateState};
use fairway_api::image::same_content;
use fairway_api::{ClusterVersionStatus, Version};

use super::outcome::Action;
use crate::foreign_text::OneLine;

/// What it is to withdraw a request.
pub(super) fn action(asked: &Update, status: &ClusterVersionStatus) -> Action {
    let desired = &status.desired;
    let architecture = asked.architecture();
    let fits = architecture.is_none() || architecture == desired.architecture.as_ref();
    let was_begun = match (asked.image(), asked.version()) {
        (Some(image), _) => same_content(image, &desired.image),
        (None, Some(version)) => fits && version == desired.version,
        (None, None) => false,
    };
    if asked.mode.is_some() {
        Action::CancelledPreflight
    } else if !was_begun {
        if fits { Action::Cancelled } else { Action::CancelledMultiArch }
    } else if is_under_way(status) {
        Action::Withdrawn
    } else {
        Action::Cleared
    }
}

fn is_under_way(status: &ClusterVersionStatus) -> bool {
    status.history.first().is_some_and(|newest| newest.state == UpdateState::Partial)
}

/// What the operator makes of an update that is withdrawn on its way: it goes back only as far as
/// its guards let it.
pub(super) fn consequence(status: &ClusterVersionStatus) -> String {
    let desired = &status.desired;
    let before = status.history.iter().find(|entry| !same_content(&entry.image, &desired.image));
    let before = before.and_then(|entry| Version::parse(entry.version.as_deref()?).ok());
    let target = Version::parse(&desired.version).ok();
    match (before, target) {
        (Some(before), Some(target)) if before.stream() == target.stream() => format!(
            "the update has started: the operator rolls back to {before}, unless the operator of \
             {target} already runs; then the update continues"
        ),
        _ => format!(
            "the update has started and continues to {}: a rollback is possible only to the \
             previous release of the same minor version",
            OneLine(&desired.version)
        ),
    }
}
