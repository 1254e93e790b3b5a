//! The condition `Invalid`: problems of the spec.

use fairway_api::cluster_version::{Architecture, ClusterVersionStatus, Release, Update};
use fairway_api::reason::invalid;
use fairway_api::{ClusterVersion, OperatorCondition, validate};

use crate::stage::updates::Updates;
use crate::text::excerpt;

/// The condition, if the spec has problems.
pub(super) fn problems(
    cluster_version: &ClusterVersion,
    updates: Option<&Updates>,
) -> Option<OperatorCondition> {
    let found = validate::cluster_version(cluster_version);
    let mut problems: Vec<String> =
        found.iter().map(|problem| excerpt(&problem.to_string()).into_owned()).collect();
    let status = cluster_version.status.as_ref();
    // Updates of another generation may be of another channel.
    let generation = cluster_version.metadata.generation.unwrap_or_default();
    let updates = updates.filter(|updates| updates.generation == generation);
    if let (Some(update), Some(status)) = (&cluster_version.spec.desired_update, status) {
        problems.extend(updates.and_then(|updates| unknown_release(update, status, updates)));
    }
    let message = match problems.as_slice() {
        [] => return None,
        [one] => format!("The cluster version is invalid: {one}"),
        several => format!("The cluster version is invalid:\n* {}", several.join("\n* ")),
    };
    let condition = OperatorCondition::new(invalid::TYPE, true);
    Some(condition.reason(invalid::INVALID_CLUSTER_VERSION).message(message))
}

/// Whether it is unknown if the requested version exists. The status then keeps what an operator
/// before this one reported for the same spec.
pub(super) fn is_undecided(cluster_version: &ClusterVersion, updates: Option<&Updates>) -> bool {
    let desired = cluster_version.spec.desired_update.as_ref();
    let is_looked_up =
        desired.is_some_and(|update| update.version().is_some() && update.image().is_none());
    let observed = cluster_version.status.as_ref().map(|status| status.observed_generation);
    is_looked_up
        && updates.is_none_or(|updates| updates.fresh.is_none())
        && observed == cluster_version.metadata.generation
}

/// The problem of a version that must be looked up because the request has no image.
fn unknown_release(
    update: &Update,
    status: &ClusterVersionStatus,
    updates: &Updates,
) -> Option<String> {
    let version = update.version()?;
    if update.image().is_some() || updates.fresh.is_none() {
        return None;
    }
    if update.is_update() && becomes_multi(update, status) {
        return not_for_several(&status.desired.version, updates);
    }
    let field = "spec.desiredUpdate.version";
    let past = status.history.iter().filter(|entry| entry.version.as_deref() == Some(version));
    let past = past.map(|entry| entry.image.as_str());
    let offered = updates.candidates.iter().map(|candidate| &candidate.release);
    let known = offered.chain([&status.desired]).filter(|release| release.version == version);
    let mut images: Vec<&str> = known.map(|release| release.image.as_str()).collect();
    if images.is_empty() {
        images = past.collect();
    }
    images.sort_unstable();
    images.dedup();
    match images.as_slice() {
        [] if update.mode.is_some() && updates.knows(version) => None,
        [] => Some(format!(
            "{field}: {version:?} is not an available update in this channel; list updates with \
             `fairway upgrade --include-not-recommended`, or set the image as well"
        )),
        [_] => None,
        several => Some(format!(
            "{field}: {} releases have version {version:?}; set the image as well",
            several.len()
        )),
    }
}

/// Whether the update changes the cluster to several architectures.
fn becomes_multi(update: &Update, status: &ClusterVersionStatus) -> bool {
    update.architecture() == Some(&Architecture::Multi) && !is_multi(&status.desired)
}

fn is_multi(release: &Release) -> bool {
    release.architecture == Some(Architecture::Multi)
}

/// The problem that the running release has no multi-architecture image.
fn not_for_several(version: &str, updates: &Updates) -> Option<String> {
    let mut offered = updates.candidates.iter().map(|candidate| &candidate.release);
    let is_there = offered.any(|release| release.version == version && is_multi(release));
    (!is_there).then(|| {
        format!(
            "spec.desiredUpdate.architecture: the update service has no multi-architecture image \
             of {version:?}; withdraw the request with `fairway upgrade --clear`"
        )
    })
}
