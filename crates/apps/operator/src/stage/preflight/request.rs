//! What the spec asks for: another release's opinion, or nothing of the kind.

use fairway_api::cluster_version::{Architecture, Release, Update, UpdateHistory, UpdateMode};

use crate::settings::OnUpdate;
use crate::stage::meaning::{self, Meaning, Places};
use crate::stage::updates::{Updates, same_content};

/// What the spec asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// No preflight.
    Nothing,
    /// One that cannot be carried out. It is no update either.
    Held(Held),
    /// One of a version that nobody can look up yet; for the policy alone, or for somebody.
    NotKnownYet { version: String, implicit: bool },
    /// One of that release.
    Wanted(Wanted),
}

/// The release that is asked for its opinion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Its image, by digest.
    pub(super) image: String,
    /// The version that it has to have, where one was named.
    pub(super) version: Option<String>,
    /// Whether it need not be signed.
    pub(super) forced: bool,
    /// Whether nobody asked for it but the policy, before an update begins.
    pub(super) implicit: bool,
}

impl Request {
    /// Whether that release is asked for, or may be: every change of the spec has to be answered by
    /// the update service before it is known what its version means now.
    pub(super) fn may_mean(&self, wanted: &Wanted) -> bool {
        match self {
            Self::Wanted(it) => it == wanted,
            Self::NotKnownYet { version, .. } => wanted.version.as_ref() == Some(version),
            Self::Nothing | Self::Held(_) => false,
        }
    }
}

/// Why a request is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// Nobody knows what it means.
    UnknownMode { mode: String },
    /// The administrator wants no preflights.
    Disabled,
    /// It names no release.
    NoRelease,
    /// The update service has not answered; what it says instead.
    NotRetrieved { version: String, why: String },
    /// The update service does not know the version.
    NotFound { version: String, channel: Option<String> },
    /// The update service knows several releases of that version.
    Several { version: String },
    /// The name of the image can mean another one tomorrow.
    NotByDigest { image: String },
}

/// What requests are understood by.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// Whether preflights are carried out.
    pub(super) enabled: bool,
    /// What is asked of a release before the cluster is updated to it.
    pub(super) on_update: OnUpdate,
    /// The release that runs.
    pub(super) own: &'a Release,
    /// The image that the cluster is to have.
    pub(super) desired: Option<&'a str>,
    /// What the cluster had.
    pub(super) history: &'a [UpdateHistory],
    /// The channel that the update service is asked for.
    pub(super) channel: Option<&'a str>,
    /// What it says about this very spec.
    pub(super) updates: Option<&'a Updates>,
    /// What was looked at before, whether it is offered or not.
    pub(super) looked_at: &'a [Release],
}

/// What the spec asks for.
pub(super) fn request(asked: Option<&Update>, known: Known) -> Request {
    let Some(update) = asked else { return Request::Nothing };
    match &update.mode {
        Some(UpdateMode::Preflight) if !known.enabled => Request::Held(Held::Disabled),
        Some(UpdateMode::Preflight) => explicit(update, known),
        Some(mode) => Request::Held(Held::UnknownMode { mode: mode.to_string() }),
        None => implicit(update, known),
    }
}

fn explicit(update: &Update, known: Known) -> Request {
    match look_up(update, known) {
        Ok(image) => Request::Wanted(Wanted {
            image,
            version: update.version().map(str::to_owned),
            forced: update.forced(),
            implicit: false,
        }),
        Err(refusal) => refusal,
    }
}

/// Whether an update is asked for that this release is not: one that is complete stays in the spec,
/// and nobody asks for anything by it.
pub(super) fn asks_for_another(asked: Option<&Update>, own: &Release) -> bool {
    asked.is_some_and(|update| update.is_update() && !is_own(update, own))
}

/// Whether the release that is named is the one that runs.
fn is_own(update: &Update, own: &Release) -> bool {
    let is_multi = update.architecture() == Some(&Architecture::Multi);
    match (update.image(), update.version()) {
        (Some(image), _) => same_content(image, &own.image),
        (None, version) => {
            version == Some(&own.version) && (!is_multi || own.architecture.is_some())
        }
    }
}

/// An update is a request, too, where the policy says so: until it has begun. It is of the release
/// that the update means, and of no other: that one waits for it.
fn implicit(update: &Update, known: Known) -> Request {
    let is_off = !known.enabled || known.on_update == OnUpdate::Off || update.forced();
    if is_off || !update.is_update() {
        return Request::Nothing;
    }
    let offered: Option<Vec<&Release>> = known.updates.map(|updates| {
        let offered = updates.candidates.iter().map(|candidate| &candidate.release);
        offered.chain(known.looked_at).collect()
    });
    let newest = known.history.first();
    let places = Places {
        own: known.own,
        is_multi: known.own.architecture.is_some(),
        begun: newest.and_then(|newest| Some((newest.image.as_str(), newest.version.as_deref()?))),
        offered: offered.as_deref(),
        history: known.history,
    };
    match meaning::of(update, places) {
        Meaning::Release { image, version } if by_digest(image) => {
            let has_begun = known.desired.is_none_or(|desired| same_content(desired, image));
            if has_begun {
                return Request::Nothing;
            }
            let (image, version) = (image.to_owned(), version.map(str::to_owned));
            Request::Wanted(Wanted { image, version, forced: false, implicit: true })
        }
        Meaning::NotKnownYet { version } => {
            Request::NotKnownYet { version: version.to_owned(), implicit: true }
        }
        // Updates that cannot be found are told about where updates are.
        Meaning::Release { .. } | Meaning::Nothing => Request::Nothing,
    }
}

/// Whether an image will be the same tomorrow.
fn by_digest(image: &str) -> bool {
    image.contains("@sha256:")
}

/// The image of a release that somebody asks about, whether there is a way to it or not.
fn look_up(update: &Update, known: Known) -> Result<String, Request> {
    let held = |held| Err(Request::Held(held));
    if let Some(image) = update.image() {
        let is_one = by_digest(image);
        let image = image.to_owned();
        return if is_one { Ok(image) } else { held(Held::NotByDigest { image }) };
    }
    let Some(version) = update.version() else { return held(Held::NoRelease) };
    if is_own(update, known.own) {
        return Ok(known.own.image.clone());
    }
    let is_multi = update.architecture() == Some(&Architecture::Multi);
    let Some(updates) = known.updates else {
        return Err(Request::NotKnownYet { version: version.to_owned(), implicit: false });
    };
    let wanted = if is_multi { Some(Architecture::Multi) } else { known.own.architecture.clone() };
    let mut found = updates.releases(version);
    found.retain(|release| release.architecture == wanted);
    match found.as_slice() {
        [release] => Ok(release.image.clone()),
        [] => match past(version, known.history) {
            Some(image) => Ok(image.to_owned()),
            None => held(not_found(version, known.channel, updates)),
        },
        _ => held(Held::Several { version: version.to_owned() }),
    }
}

/// The image of a version that the cluster had, where there is one.
fn past<'a>(version: &str, history: &'a [UpdateHistory]) -> Option<&'a str> {
    let mut had = history.iter().filter(|entry| entry.version.as_deref() == Some(version));
    had.next().map(|entry| entry.image.as_str())
}

fn not_found(version: &str, channel: Option<&str>, updates: &Updates) -> Held {
    let version = version.to_owned();
    if updates.graph.nodes().is_empty() {
        let why = updates.retrieved.message.clone().unwrap_or_default();
        return Held::NotRetrieved { version, why };
    }
    Held::NotFound { version, channel: channel.map(str::to_owned) }
}

#[cfg(test)]
mod tests;
