//! Selection of the release of a request among the listed updates, or of an unlisted image.

use std::cmp::Reverse;

use anyhow::anyhow;
use fairway_api::cluster_version::{ConditionalUpdate, Release};
use fairway_api::image::same_content;
use fairway_api::reason::{recommended, retrieved_updates};
use fairway_api::{ClusterVersionStatus, Conditions as _, Version};

use super::super::release::{RequestTarget, listed_releases};
use super::super::{risks, similar};
use super::arguments::ReleaseRequest;
use crate::errors::{CannotTell, Refused, WithHint};
use crate::foreign_text::OneLine;

/// Versions in the hint of an error.
const MAX_LISTED: usize = 10;

/// Release of a request.
#[derive(Debug)]
pub(super) struct SelectedRelease<'a> {
    pub(super) release: Release,
    /// Listed update, if it is not recommended.
    pub(super) conditional: Option<&'a ConditionalUpdate>,
    /// Whether ClusterVersion lists the release.
    pub(super) is_listed: bool,
}

impl<'a> SelectedRelease<'a> {
    fn recommended(release: &Release) -> Self {
        Self { release: release.clone(), conditional: None, is_listed: true }
    }

    fn conditional(update: &'a ConditionalUpdate) -> Self {
        Self { release: update.release.clone(), conditional: Some(update), is_listed: true }
    }
}

/// Whether ClusterVersion lists an update to an image, recommended or not.
pub(super) fn is_listed(status: &ClusterVersionStatus, image: &str) -> bool {
    listed_releases(status).any(|release| same_content(&release.image, image))
}

/// Selects the release of a request, `None` if the cluster has the latest.
pub(super) fn select<'a>(
    status: &'a ClusterVersionStatus,
    request: &ReleaseRequest,
) -> anyhow::Result<Option<SelectedRelease<'a>>> {
    let recommended = status.available_updates.iter().flatten().map(SelectedRelease::recommended);
    let others = status
        .conditional_updates
        .iter()
        .filter(|update| !update.conditions.is_true(recommended::TYPE))
        .map(SelectedRelease::conditional);
    let mut listed = recommended.chain(others);
    match &request.target {
        RequestTarget::Version(version) => {
            let found = listed.find(|selected| selected.release.version == *version);
            found.map(Some).ok_or_else(|| not_listed(status, version))
        }
        RequestTarget::Image { image, version } => {
            let found = listed.find(|selected| same_content(&selected.release.image, image));
            by_image(status, request, image, version.as_deref(), found).map(Some)
        }
        RequestTarget::Latest => {
            let current = Version::parse(&status.desired.version).ok();
            let candidates = listed
                .filter(|selected| selected.conditional.is_none() || request.allow_not_recommended)
                .filter_map(|selected| {
                    Some((Version::parse(&selected.release.version).ok()?, selected))
                })
                .filter(|(version, _)| current.as_ref().is_none_or(|current| version > current));
            // Of equal versions, a recommended one.
            let latest = candidates
                .max_by_key(|(version, selected)| {
                    (version.clone(), Reverse(selected.conditional.is_some()))
                })
                .map(|(_, selected)| selected);
            match latest {
                Some(latest) => Ok(Some(latest)),
                None if knows_updates(status) => Ok(None),
                None => Err(unknown_updates(status)),
            }
        }
    }
}

/// Release of an image as given in the arguments, which may be that of a mirror.
fn by_image<'a>(
    status: &ClusterVersionStatus,
    request: &ReleaseRequest,
    image: &str,
    version: Option<&str>,
    found: Option<SelectedRelease<'a>>,
) -> anyhow::Result<SelectedRelease<'a>> {
    let current = same_content(image, &status.desired.image).then_some(&status.desired);
    if let Some(known) = found.as_ref().map(|selected| &selected.release).or(current) {
        check_version(known, version)?;
    }
    let Some(mut selected) = found else {
        if !request.allow_explicit {
            return Err(not_listed(status, image));
        }
        let found = request.image_metadata.as_ref().and_then(|found| found.as_ref().ok());
        let mut release = found.map(|found| *found.clone()).unwrap_or_default();
        if let Some(version) = version {
            version.clone_into(&mut release.version);
        }
        image.clone_into(&mut release.image);
        return Ok(SelectedRelease { release, conditional: None, is_listed: false });
    };
    image.clone_into(&mut selected.release.image);
    Ok(selected)
}

/// Requires that an image has the version of the arguments.
fn check_version(release: &Release, version: Option<&str>) -> Result<(), WithHint> {
    match version.filter(|version| *version != release.version) {
        None => Ok(()),
        Some(version) => Err(WithHint::new(
            format!("the image has version {}, not {version}", OneLine(&release.version)),
            "omit --to, or set it to the version of the image",
        )),
    }
}

fn knows_updates(status: &ClusterVersionStatus) -> bool {
    status.conditions.is_true(retrieved_updates::TYPE)
}

fn not_listed(status: &ClusterVersionStatus, wanted: &str) -> anyhow::Error {
    let mut versions: Vec<&str> = listed_versions(status);
    if versions.is_empty() && !knows_updates(status) {
        return unknown_updates(status);
    }
    let meant = similar::most_similar(wanted, versions.iter().copied());
    let meant =
        meant.map_or_else(String::new, |meant| format!("did you mean {}? ", OneLine(meant)));
    versions.truncate(MAX_LISTED);
    let hint = if versions.is_empty() {
        "no updates are available; to use an unlisted image, pass --to-image and \
         --allow-explicit-upgrade"
            .to_owned()
    } else {
        format!(
            "{meant}available updates: {}; to use an unlisted image, pass --to-image and \
             --allow-explicit-upgrade",
            OneLine(&versions.join(", "))
        )
    };
    let message = format!("{} is not an available update of this cluster", OneLine(wanted));
    if knows_updates(status) {
        Refused::new(message, hint).into()
    } else {
        CannotTell::new(message, hint).into()
    }
}

/// Versions of all listed updates, latest first.
fn listed_versions(status: &ClusterVersionStatus) -> Vec<&str> {
    let mut versions: Vec<&str> =
        listed_releases(status).map(|release| release.version.as_str()).collect();
    versions.sort_by_cached_key(|version| risks::latest_first(version));
    versions.dedup();
    versions
}

fn unknown_updates(status: &ClusterVersionStatus) -> anyhow::Error {
    let error = CannotTell::new(
        "the available updates are unknown",
        "run `fairway upgrade` for the reason; to use an unlisted image, pass --to-image and \
         --allow-explicit-upgrade",
    );
    let retrieved = status.conditions.find(retrieved_updates::TYPE);
    match retrieved.and_then(|condition| condition.message.as_deref()) {
        Some(why) => anyhow!("{}", OneLine(why)).context(error),
        None => error.into(),
    }
}
