//! Releases that were looked at although the update service leads nowhere near them.

use fairway_api::cluster_version::Release;
use fairway_api::reason::recommended;

use super::docs;
use crate::risk::{Candidate, Risk};

/// A release that the update service does not offer. It can be updated to by those who accept that;
/// recommended it never is.
pub fn not_offered(release: Release) -> Candidate {
    let message = format!(
        "The update service has no update from the running version to {}, so the update is \
        untested.",
        release.version
    );
    let name = recommended::NOT_OFFERED_BY_UPDATE_SERVICE.code;
    let risk = Risk::always(name, message, docs("updates-that-are-not-offered"));
    Candidate { release, risks: vec![risk.into()] }
}
