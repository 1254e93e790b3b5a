//! Which release an update means: whoever waits for a release and whoever asks it are to have the
//! same in mind.

use fairway_api::cluster_version::{Architecture, Release, Update, UpdateHistory};

use super::updates::same_content;

/// Where releases are looked up.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    /// The release of the operator itself.
    pub(crate) own: &'a Release,
    /// Whether its image serves several architectures.
    pub(crate) is_multi: bool,
    /// The release that was begun last: its image, and its version.
    pub(crate) begun: Option<(&'a str, &'a str)>,
    /// What is offered to this cluster or was looked at, once that is known.
    pub(crate) offered: Option<&'a [&'a Release]>,
    /// What the cluster had.
    pub(crate) history: &'a [UpdateHistory],
}

/// What an update means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning<'a> {
    /// A release, which has to have that version where one was named.
    Release { image: &'a str, version: Option<&'a str> },
    /// No release that can be found, or several that cannot be told apart.
    Nothing,
    /// A release of that version, which nobody can look up yet.
    NotKnownYet { version: &'a str },
}

/// What an update means.
pub(crate) fn of<'a>(update: &'a Update, places: Places<'a>) -> Meaning<'a> {
    match (update.image(), update.version(), update.architecture()) {
        (Some(image), version, _) => Meaning::Release { image, version },
        (None, Some(_), Some(Architecture::Multi)) if !places.is_multi => multi(places),
        (None, Some(version), _) => look_up(version, places),
        (None, None, _) => Meaning::Nothing,
    }
}

/// The image of a version. What was begun goes on, whatever is offered meanwhile.
fn look_up<'a>(version: &'a str, places: Places<'a>) -> Meaning<'a> {
    let known = |image| Meaning::Release { image, version: Some(version) };
    if let Some((image, _)) = places.begun.filter(|(_, begun)| *begun == version) {
        return known(image);
    }
    if places.own.version == version {
        return known(&places.own.image);
    }
    let Some(offered) = places.offered else { return Meaning::NotKnownYet { version } };
    let mut offered = offered.iter().filter(|release| release.version == version).peekable();
    let past = places.history.iter().filter(|entry| entry.version.as_deref() == Some(version));
    let image = if offered.peek().is_some() {
        only(offered.map(|release| release.image.as_str()))
    } else {
        only(past.map(|entry| entry.image.as_str()))
    };
    image.map_or(Meaning::Nothing, known)
}

/// First all architectures, then another version.
fn multi(places: Places<'_>) -> Meaning<'_> {
    let version = places.own.version.as_str();
    let Some(offered) = places.offered else { return Meaning::NotKnownYet { version } };
    let is_it = |release: &&&Release| {
        release.version == version && release.architecture == Some(Architecture::Multi)
    };
    let image = only(offered.iter().filter(is_it).map(|release| release.image.as_str()));
    image.map_or(Meaning::Nothing, |image| Meaning::Release { image, version: Some(version) })
}

/// The one image among these.
fn only<'a>(mut images: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = images.next()?;
    images.all(|image| same_content(image, first)).then_some(first)
}
