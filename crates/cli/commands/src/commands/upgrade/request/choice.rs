//! Which release is meant: one that is listed, unless an image is named and meant.

use std::cmp::Reverse;

use anyhow::anyhow;
use fairway_api::cluster_version::{ConditionalUpdate, Release};
use fairway_api::image::same_content;
use fairway_api::reason::{recommended, retrieved_updates};
use fairway_api::{ClusterVersionStatus, Conditions as _, Version};

use super::super::similar;
use super::wish::{Target, UpdateWish};
use crate::errors::{CannotTell, Refused, WithHint};
use crate::foreign_text::OneLine;

/// More would bury the answer.
const FEW: usize = 10;

/// The release that is meant.
#[derive(Debug)]
pub(super) struct Chosen<'a> {
    pub(super) release: Release,
    /// What speaks against it, where it is listed as not recommended.
    pub(super) conditional: Option<&'a ConditionalUpdate>,
    /// Whether it is listed.
    pub(super) is_listed: bool,
}

impl<'a> Chosen<'a> {
    fn recommended(release: &Release) -> Self {
        Self { release: release.clone(), conditional: None, is_listed: true }
    }

    fn conditional(update: &'a ConditionalUpdate) -> Self {
        Self { release: update.release.clone(), conditional: Some(update), is_listed: true }
    }
}

/// Whether an update to that image is listed, recommended or not.
pub(super) fn is_listed(status: &ClusterVersionStatus, image: &str) -> bool {
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    let mut all = status.available_updates.iter().flatten().chain(conditional);
    all.any(|release| same_content(&release.image, image))
}

/// The release that is meant; none where the cluster is at the latest.
pub(super) fn choose<'a>(
    status: &'a ClusterVersionStatus,
    wish: &UpdateWish,
) -> anyhow::Result<Option<Chosen<'a>>> {
    let recommended = status.available_updates.iter().flatten().map(Chosen::recommended);
    let others = status
        .conditional_updates
        .iter()
        .filter(|update| !update.conditions.is_true(recommended::TYPE))
        .map(Chosen::conditional);
    let mut listed = recommended.chain(others);
    match &wish.target {
        Target::Version(version) => {
            let found = listed.find(|chosen| chosen.release.version == *version);
            found.map(Some).ok_or_else(|| not_listed(status, version))
        }
        Target::Image { image, version } => {
            let found = listed.find(|chosen| same_content(&chosen.release.image, image));
            by_image(status, wish, image, version.as_deref(), found).map(Some)
        }
        Target::Latest => {
            let current = Version::parse(&status.desired.version).ok();
            let candidates = listed
                .filter(|chosen| chosen.conditional.is_none() || wish.allow_not_recommended)
                .filter_map(|chosen| Some((Version::parse(&chosen.release.version).ok()?, chosen)))
                .filter(|(version, _)| current.as_ref().is_none_or(|current| version > current));
            // Of equals, the one that is recommended.
            let latest = candidates
                .max_by_key(|(version, chosen)| {
                    (version.clone(), Reverse(chosen.conditional.is_some()))
                })
                .map(|(_, chosen)| chosen);
            match latest {
                Some(latest) => Ok(Some(latest)),
                None if knows_updates(status) => Ok(None),
                None => Err(cannot_tell(status)),
            }
        }
    }
}

/// The image as it was typed, which may be that of a mirror.
fn by_image<'a>(
    status: &ClusterVersionStatus,
    wish: &UpdateWish,
    image: &str,
    version: Option<&str>,
    found: Option<Chosen<'a>>,
) -> anyhow::Result<Chosen<'a>> {
    let is_there = same_content(image, &status.desired.image).then_some(&status.desired);
    if let Some(known) = found.as_ref().map(|chosen| &chosen.release).or(is_there) {
        check_version(known, version)?;
    }
    let Some(mut chosen) = found else {
        if !wish.allow_explicit {
            return Err(not_listed(status, image));
        }
        let found = wish.looked_up.as_ref().and_then(|found| found.as_ref().ok());
        let mut release = found.map(|found| *found.clone()).unwrap_or_default();
        if let Some(version) = version {
            version.clone_into(&mut release.version);
        }
        image.clone_into(&mut release.image);
        return Ok(Chosen { release, conditional: None, is_listed: false });
    };
    image.clone_into(&mut chosen.release.image);
    Ok(chosen)
}

/// Whoever names a version beside an image means both.
fn check_version(release: &Release, version: Option<&str>) -> Result<(), WithHint> {
    match version.filter(|version| *version != release.version) {
        None => Ok(()),
        Some(version) => Err(WithHint {
            message: format!("the image has version {}, not {version}", OneLine(&release.version)),
            hint: "omit --to, or set it to the version of the image".to_owned(),
        }),
    }
}

fn knows_updates(status: &ClusterVersionStatus) -> bool {
    status.conditions.is_true(retrieved_updates::TYPE)
}

fn not_listed(status: &ClusterVersionStatus, wanted: &str) -> anyhow::Error {
    let mut versions: Vec<&str> = listed(status);
    if versions.is_empty() && !knows_updates(status) {
        return cannot_tell(status);
    }
    let meant = similar::most_like(wanted, versions.iter().copied());
    let meant =
        meant.map_or_else(String::new, |meant| format!("did you mean {}? ", OneLine(meant)));
    versions.truncate(FEW);
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
        Refused { message, hint }.into()
    } else {
        CannotTell { message, hint }.into()
    }
}

/// The versions of all listed updates, the latest first.
fn listed(status: &ClusterVersionStatus) -> Vec<&str> {
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    let all = status.available_updates.iter().flatten().chain(conditional);
    let mut versions: Vec<&str> = all.map(|release| release.version.as_str()).collect();
    versions.sort_by_cached_key(|version| super::super::risks::latest_first(version));
    versions.dedup();
    versions
}

fn cannot_tell(status: &ClusterVersionStatus) -> anyhow::Error {
    let question = CannotTell {
        message: "the available updates are unknown".to_owned(),
        hint:
            "run `fairway upgrade` for the reason; to use an unlisted image, pass --to-image and \
             --allow-explicit-upgrade"
                .to_owned(),
    };
    let said = status.conditions.find(retrieved_updates::TYPE);
    match said.and_then(|condition| condition.message.as_deref()) {
        Some(why) => anyhow!("{}", OneLine(why)).context(question),
        None => question.into(),
    }
}
