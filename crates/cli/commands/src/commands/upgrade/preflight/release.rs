//! Which release is meant.

use fairway_api::ClusterVersionStatus;
use fairway_api::cluster_version::Release;
use fairway_api::image::same_content;

use super::super::request::outcome::Named;
use crate::args::upgrade_preflight::ReleaseChoice;

/// The updates that a cluster lists, recommended or not.
pub(super) fn listed(status: &ClusterVersionStatus) -> impl Iterator<Item = &Release> {
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    status.available_updates.iter().flatten().chain(conditional)
}

/// Whether both names can only mean the same release: the image decides, if both have one.
pub(super) fn is_same(one: &Named, other: &Named) -> bool {
    match (&one.image, &other.image) {
        (Some(one), Some(other)) => same_content(one, other),
        _ => one.version.is_some() && one.version == other.version,
    }
}

/// The same release with what others know of it: its image, or its version.
pub(super) fn complete(named: Named, mut known: impl Iterator<Item = Named>) -> Named {
    match known.find(|known| is_same(known, &named)) {
        Some(known) => {
            Named { version: named.version.or(known.version), image: named.image.or(known.image) }
        }
        None => named,
    }
}

impl From<&ReleaseChoice> for Named {
    fn from(choice: &ReleaseChoice) -> Self {
        match choice.clone() {
            ReleaseChoice::Version(version) => Self { version: Some(version), image: None },
            ReleaseChoice::Image(image) => Self { version: None, image: Some(image) },
        }
    }
}
