//! The conditions about the release that is rolled out, a file for each.

pub(super) mod available;
pub(super) mod capabilities;
pub(super) mod failing;
pub(super) mod progressing;

use fairway_api::cluster_version::Release;

/// How a release is called: by its version or, where that is not known, by its image.
fn name(release: &Release) -> &str {
    let names = [release.version.as_str(), release.image.as_str()];
    names.into_iter().find(|name| !name.is_empty()).unwrap_or("<unknown>")
}
