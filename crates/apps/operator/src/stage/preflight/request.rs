//! Interpretation of `spec.desiredUpdate` as a preflight request.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{Architecture, Release, Update, UpdateHistory, UpdateMode};
use fairway_findings::consent::SecretConsent;

use crate::settings::OnUpdate;
use crate::stage::release_lookup::{self, LookupResult, ReleaseLookup};
use crate::stage::updates::{Updates, same_content};

/// A preflight request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PreflightRequest {
    /// No preflight is requested.
    Nothing,
    /// The operator processes the request neither as a preflight nor as an update.
    Held(HoldReason),
    /// The version is not looked up yet. `implicit`: the policy for updates requests the preflight.
    NotKnownYet { version: String, implicit: bool },
    /// A preflight of this release.
    Requested(RequestedRelease),
}

/// The target release of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedRelease {
    /// Image, by digest.
    pub(super) image: String,
    /// Version that the payload must have, if the request names one.
    pub(super) version: Option<String>,
    /// Whether the image needs no signature.
    pub(super) forced: bool,
    /// Whether the policy for updates requests the preflight.
    pub(super) implicit: bool,
    /// Secrets that checks may read with the consent of the administrator, as `NAMESPACE/NAME`.
    pub(super) secrets: BTreeSet<String>,
}

impl PreflightRequest {
    /// Whether the request may be for this release. After every change of the spec, the version is
    /// unknown until the update service has responded.
    pub(super) fn may_mean(&self, target: &RequestedRelease) -> bool {
        match self {
            Self::Requested(it) => it == target,
            Self::NotKnownYet { version, .. } => target.version.as_ref() == Some(version),
            Self::Nothing | Self::Held(_) => false,
        }
    }
}

/// Why the operator does not process a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HoldReason {
    /// The mode is not supported.
    UnknownMode { mode: String },
    /// Preflights are disabled.
    Disabled,
    /// The request has no release.
    NoRelease,
    /// The update service did not respond: its error.
    NotRetrieved { version: String, why: String },
    /// The update service does not have the version.
    NotFound { version: String, channel: Option<String> },
    /// The update service has several releases of the version.
    Several { version: String },
    /// The image is not pinned to a digest.
    NotByDigest { image: String },
}

/// Cluster state that is needed to interpret requests.
#[derive(Clone, Copy)]
pub(super) struct RequestContext<'a> {
    /// Whether preflights are enabled.
    pub(super) enabled: bool,
    /// Annotation with the consent that checks read Secrets.
    pub(super) consent: Option<&'a str>,
    /// Policy for preflights before updates.
    pub(super) on_update: OnUpdate,
    /// The running release.
    pub(super) own: &'a Release,
    /// Image of `status.desired`.
    pub(super) desired: Option<&'a str>,
    /// History of the cluster.
    pub(super) history: &'a [UpdateHistory],
    /// Channel of the cluster.
    pub(super) channel: Option<&'a str>,
    /// Releases of the update service for this generation of the spec.
    pub(super) updates: Option<&'a Updates>,
    /// Releases with preflight results, whether they are offered or not.
    pub(super) examined: &'a [Release],
}

/// Interprets `spec.desiredUpdate`.
pub(super) fn request(
    desired_update: Option<&Update>,
    context: RequestContext,
) -> PreflightRequest {
    let Some(update) = desired_update else { return PreflightRequest::Nothing };
    match &update.mode {
        Some(UpdateMode::Preflight) if !context.enabled => {
            PreflightRequest::Held(HoldReason::Disabled)
        }
        Some(UpdateMode::Preflight) => explicit(update, context),
        Some(mode) => PreflightRequest::Held(HoldReason::UnknownMode { mode: mode.to_string() }),
        None => implicit(update, context),
    }
}

fn explicit(update: &Update, context: RequestContext) -> PreflightRequest {
    match resolve_image(update, context) {
        Ok(image) => PreflightRequest::Requested(RequestedRelease {
            image,
            version: update.version().map(str::to_owned),
            forced: update.forced(),
            implicit: false,
            secrets: SecretConsent::allowed(context.consent, update.image(), update.version()),
        }),
        Err(refusal) => refusal,
    }
}

/// Whether an update to another release is requested. A completed update remains in the spec and
/// requests nothing.
pub(super) fn requests_other_release(desired_update: Option<&Update>, own: &Release) -> bool {
    desired_update.is_some_and(|update| update.is_update() && !is_own(update, own))
}

/// Whether the requested release is the running one.
fn is_own(update: &Update, own: &Release) -> bool {
    let is_multi = update.architecture() == Some(&Architecture::Multi);
    match (update.image(), update.version()) {
        (Some(image), _) => same_content(image, &own.image),
        (None, version) => {
            version == Some(&own.version) && (!is_multi || own.architecture.is_some())
        }
    }
}

/// Implicit request of an update, if the policy requires one and the update has not started. It
/// must resolve to the release of the update, which waits for the result.
fn implicit(update: &Update, context: RequestContext) -> PreflightRequest {
    let is_off = !context.enabled || context.on_update == OnUpdate::Off || update.forced();
    if is_off || !update.is_update() {
        return PreflightRequest::Nothing;
    }
    let offered: Option<Vec<&Release>> = context.updates.map(|updates| {
        let offered = updates.candidates.iter().map(|candidate| &candidate.release);
        offered.chain(context.examined).collect()
    });
    let newest = context.history.first();
    let places = ReleaseLookup {
        own: context.own,
        is_multi: context.own.architecture.is_some(),
        begun: newest.and_then(|newest| Some((newest.image.as_str(), newest.version.as_deref()?))),
        offered: offered.as_deref(),
        history: context.history,
    };
    match release_lookup::find_release(update, places) {
        LookupResult::Release { image, version } if is_pinned(image) => {
            let has_begun = context.desired.is_none_or(|desired| same_content(desired, image));
            if has_begun {
                return PreflightRequest::Nothing;
            }
            let (image, version) = (image.to_owned(), version.map(str::to_owned));
            PreflightRequest::Requested(RequestedRelease {
                image,
                version,
                implicit: true,
                ..RequestedRelease::default()
            })
        }
        LookupResult::NotKnownYet { version } => {
            PreflightRequest::NotKnownYet { version: version.to_owned(), implicit: true }
        }
        // The stage `target` reports updates that cannot be resolved.
        LookupResult::Release { .. } | LookupResult::Nothing => PreflightRequest::Nothing,
    }
}

/// Whether an image is pinned to a digest.
fn is_pinned(image: &str) -> bool {
    image.contains("@sha256:")
}

/// Image of an explicitly requested release. No update to it needs to exist.
fn resolve_image(update: &Update, context: RequestContext) -> Result<String, PreflightRequest> {
    let held = |held| Err(PreflightRequest::Held(held));
    if let Some(image) = update.image() {
        let is_one = is_pinned(image);
        let image = image.to_owned();
        return if is_one { Ok(image) } else { held(HoldReason::NotByDigest { image }) };
    }
    let Some(version) = update.version() else { return held(HoldReason::NoRelease) };
    if is_own(update, context.own) {
        return Ok(context.own.image.clone());
    }
    let is_multi = update.architecture() == Some(&Architecture::Multi);
    let Some(updates) = context.updates else {
        return Err(PreflightRequest::NotKnownYet { version: version.to_owned(), implicit: false });
    };
    let target =
        if is_multi { Some(Architecture::Multi) } else { context.own.architecture.clone() };
    let mut found = updates.releases(version);
    found.retain(|release| release.architecture == target);
    match found.as_slice() {
        [release] => Ok(release.image.clone()),
        [] => match image_from_history(version, context.history) {
            Some(image) => Ok(image.to_owned()),
            None => held(not_found(version, context.channel, updates)),
        },
        _ => held(HoldReason::Several { version: version.to_owned() }),
    }
}

/// Image of a version in the history.
fn image_from_history<'a>(version: &str, history: &'a [UpdateHistory]) -> Option<&'a str> {
    let mut had = history.iter().filter(|entry| entry.version.as_deref() == Some(version));
    had.next().map(|entry| entry.image.as_str())
}

fn not_found(version: &str, channel: Option<&str>, updates: &Updates) -> HoldReason {
    let version = version.to_owned();
    if updates.graph.nodes().is_empty() {
        let why = updates.retrieved.message.clone().unwrap_or_default();
        return HoldReason::NotRetrieved { version, why };
    }
    HoldReason::NotFound { version, channel: channel.map(str::to_owned) }
}

#[cfg(test)]
mod tests;
