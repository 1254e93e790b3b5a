//! The release that is rolled out, as a status shows it.

use fairway_api::cluster_version::{ClusterVersionStatus, Release};

use super::compose::Facts;
use crate::stage::updates::same_content;

/// Shows the target or, until there is one, the operator's own release; with what the update
/// service says besides. Where the cluster has another release, the target has to be waited for.
pub(super) fn show(status: &mut ClusterVersionStatus, facts: &Facts) {
    let release = match facts.target {
        Some(target) => &target.payload.release,
        None if has_another(status, &facts.own.release) => return,
        None => &facts.own.release,
    };
    if is_another(&status.desired, release) {
        forget_updates(status);
    }
    status.desired = described(&status.desired, release, facts);
}

/// Whether a predecessor has begun, or reached, another release than the operator's.
fn has_another(status: &ClusterVersionStatus, own: &Release) -> bool {
    let newest = status.history.first().filter(|newest| !newest.image.is_empty());
    newest.is_some_and(|newest| !same_content(&newest.image, &own.image))
}

/// Whether the status is about the release of the operator, which is the one that the update service
/// is asked about.
pub(super) fn is_own(status: &ClusterVersionStatus, facts: &Facts) -> bool {
    same_content(&status.desired.image, &facts.own.release.image)
}

/// Whether the status is about another release.
fn is_another(before: &Release, release: &Release) -> bool {
    !before.image.is_empty() && !same_content(&before.image, &release.image)
}

/// Updates from another release mean nothing. That there are none would be wrong as well: `None`
/// says that nobody has looked yet.
fn forget_updates(status: &mut ClusterVersionStatus) {
    status.available_updates = None;
    status.conditional_updates.clear();
    status.conditional_update_risks.clear();
}

fn described(before: &Release, release: &Release, facts: &Facts) -> Release {
    let offered = facts.updates.and_then(|updates| updates.described(&release.image));
    let said = offered.as_ref().unwrap_or(before);
    let mut desired = release.clone();
    if said.image == desired.image {
        if desired.version.is_empty() {
            desired.version.clone_from(&said.version);
        }
        desired.url = desired.url.or_else(|| said.url.clone());
        if !said.channels.is_empty() {
            desired.channels.clone_from(&said.channels);
        }
    }
    desired.unknown.clone_from(&before.unknown);
    desired
}
