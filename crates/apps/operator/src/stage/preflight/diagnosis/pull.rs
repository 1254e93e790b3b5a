//! Images that do not arrive.

use fairway_api::reason::preflight_failed;
use k8s_openapi::api::core::v1::Event;

use super::{Trouble, quoted};

/// What a container waits for while its image does not arrive.
const REASONS: [&str; 6] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
];

/// What registries and those who ask them say to a stranger.
const UNAUTHORIZED: [&str; 8] = [
    "unauthorized",
    "authentication required",
    "authorization failed",
    "no basic auth credentials",
    "access denied",
    "access to the requested resource is not authorized",
    "401",
    "403",
];

/// What is wrong with an image, in the words of whoever knows it best.
pub(super) fn trouble(reason: &str, message: Option<&str>, events: &[&Event]) -> Option<Trouble> {
    if !REASONS.contains(&reason) {
        return None;
    }
    // Who waits before he tries again says only that; what happened was told before.
    let is_told = |event: &&&Event| {
        let said = event.message.as_deref().unwrap_or_default();
        event.reason.as_deref() == Some("Failed") && said.contains("pull image")
    };
    let told = events.iter().find(is_told).and_then(|event| event.message.as_deref());
    let own = message.filter(|_| reason != "ImagePullBackOff");
    let words = quoted(own.or(told).or(message));
    let lower = words.to_lowercase();
    Some(if UNAUTHORIZED.iter().any(|refusal| lower.contains(refusal)) {
        let message = format!("the registry denied the node access to the release image: {words}");
        Trouble::passing(preflight_failed::IMAGE_PULL_UNAUTHORIZED, message)
    } else {
        let message = format!("the node cannot pull the release image: {words}");
        Trouble::passing(preflight_failed::IMAGE_PULL_BACK_OFF, message)
    })
}
