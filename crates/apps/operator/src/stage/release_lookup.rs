//! Lookup of the release that an update names. `target` and `preflight` share it, so that a preflight
//! runs for the same release that the update waits for.

use fairway_api::cluster_version::{Architecture, Release, Update, UpdateHistory};

use super::updates::same_content;

/// Sources in which a release is looked up.
#[derive(Clone, Copy)]
pub(crate) struct ReleaseLookup<'a> {
    /// The operator's own release.
    pub(crate) own: &'a Release,
    /// Whether its image serves several architectures.
    pub(crate) is_multi: bool,
    /// Image and version of the release whose rollout started last.
    pub(crate) begun: Option<(&'a str, &'a str)>,
    /// Releases that are offered to this cluster or have a preflight; `None` until they are known.
    pub(crate) offered: Option<&'a [&'a Release]>,
    /// History of the cluster.
    pub(crate) history: &'a [UpdateHistory],
}

/// Result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookupResult<'a> {
    /// A release image, and the version that it must have.
    Release { image: &'a str, version: Option<&'a str> },
    /// No release, or several with different content.
    Nothing,
    /// The offered releases are not known yet.
    NotKnownYet { version: &'a str },
}

/// Finds the release that an update names.
pub(crate) fn find_release<'a>(update: &'a Update, lookup: ReleaseLookup<'a>) -> LookupResult<'a> {
    match (update.image(), update.version(), update.architecture()) {
        (Some(image), version, _) => LookupResult::Release { image, version },
        (None, Some(_), Some(Architecture::Multi)) if !lookup.is_multi => find_multi(lookup),
        (None, Some(version), _) => find_version(version, lookup),
        (None, None, _) => LookupResult::Nothing,
    }
}

/// The image of a version. A rollout in progress keeps its image, whatever is offered meanwhile.
fn find_version<'a>(version: &'a str, lookup: ReleaseLookup<'a>) -> LookupResult<'a> {
    let found = |image| LookupResult::Release { image, version: Some(version) };
    if let Some((image, _)) = lookup.begun.filter(|(_, begun)| *begun == version) {
        return found(image);
    }
    if lookup.own.version == version {
        return found(&lookup.own.image);
    }
    let Some(offered) = lookup.offered else { return LookupResult::NotKnownYet { version } };
    let mut offered = offered.iter().filter(|release| release.version == version).peekable();
    let past = lookup.history.iter().filter(|entry| entry.version.as_deref() == Some(version));
    let image = if offered.peek().is_some() {
        only(offered.map(|release| release.image.as_str()))
    } else {
        only(past.map(|entry| entry.image.as_str()))
    };
    image.map_or(LookupResult::Nothing, found)
}

/// The multi-architecture image of the running version: a cluster changes its architecture before
/// its version.
fn find_multi(lookup: ReleaseLookup<'_>) -> LookupResult<'_> {
    let version = lookup.own.version.as_str();
    let Some(offered) = lookup.offered else { return LookupResult::NotKnownYet { version } };
    let is_multi = |release: &&&Release| {
        release.version == version && release.architecture == Some(Architecture::Multi)
    };
    let image = only(offered.iter().filter(is_multi).map(|release| release.image.as_str()));
    let found = |image| LookupResult::Release { image, version: Some(version) };
    image.map_or(LookupResult::Nothing, found)
}

/// The image, if all have the same content.
fn only<'a>(mut images: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = images.next()?;
    images.all(|image| same_content(image, first)).then_some(first)
}
