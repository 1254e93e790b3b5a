//! Result of the check `images`: availability of the images of a release. The operator runs it,
//! because the target release has no registry credentials; `fairway preflight --once` runs it, too.

use fairway_text::counted;

use crate::document::Finding;

/// Name of the check.
pub const NAME: &str = "images";

/// Maximum number of images that a message names.
const MAX_NAMED: usize = 5;

/// An image that is not known to be available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailableImage {
    /// Name of the image in the release.
    pub name: String,
    /// Error of each source.
    pub error: String,
    /// Whether the image may exist: a registry did not respond.
    pub may_exist: bool,
}

/// Availability of the images of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageAvailability {
    /// Findings about missing images.
    pub findings: Vec<Finding>,
    /// Sentence about images that could not be checked. The check then has no result.
    pub unknown: Option<String>,
}

/// Result for all images of a release.
pub fn evaluate(total: usize, images: &[UnavailableImage], release: &str) -> ImageAvailability {
    let (unknown, missing): (Vec<_>, Vec<_>) = images.iter().partition(|image| image.may_exist);
    let unknown = (!unknown.is_empty()).then(|| {
        format!(
            "{} of {} could not be checked because registries did not respond: {}.",
            unknown.len(),
            counted(total, "image"),
            listed(&unknown)
        )
    });
    let findings =
        if missing.is_empty() { Vec::new() } else { vec![finding(total, &missing, release)] };
    ImageAvailability { findings, unknown }
}

fn finding(total: usize, missing: &[&UnavailableImage], release: &str) -> Finding {
    let message = format!(
        "{} of {} of the target release cannot be pulled, and the update would stop where they \
         are needed: {}.",
        missing.len(),
        counted(total, "image"),
        listed(missing)
    );
    Finding::critical("ImagesNotAvailable", message).remediation(format!(
        "Check the mirrors (kubectl get imagedigestmirrorsets,imagecontentsourcepolicies -o yaml) \
         and the pull secret (kubectl -n openshift-config get secret pull-secret), then copy the \
         missing images to a mirror: oc adm release mirror --from={release} \
         --to=REGISTRY/REPOSITORY"
    ))
}

fn listed(images: &[&UnavailableImage]) -> String {
    let named = images.iter().take(MAX_NAMED);
    let named: Vec<_> = named.map(|image| format!("{} ({})", image.name, image.error)).collect();
    match images.len().saturating_sub(MAX_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
