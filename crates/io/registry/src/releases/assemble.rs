//! Derives releases from tags and manifests, without I/O.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{MAX_PLATFORMS, ScannedImage, ScannedManifest};
use super::{ProblemReason, ReleaseImage, ScanProblem, printable};
use crate::Digest;
use crate::manifest::MAX_INDEX_DEPTH;

/// Architecture of a multi-platform image.
const MULTI: &str = "multi";

/// Manifests of a finished scan.
pub(super) struct ScannedManifests<'a> {
    /// The repository as in image references.
    pub(super) name: &'a str,
    /// Manifests that this scan or an earlier one has read.
    pub(super) manifests: &'a BTreeMap<Digest, ScannedManifest>,
    /// Manifests that could not be read.
    pub(super) unread: &'a BTreeMap<Digest, ProblemReason>,
}

/// Releases by image and architecture, and the problems of the others.
#[derive(Default)]
pub(super) struct ReleaseSet {
    releases: BTreeMap<(String, String), ReleaseImage>,
    pub(super) problems: Vec<ScanProblem>,
    /// All manifests that are reachable from the tags.
    pub(super) used: BTreeSet<Digest>,
}

impl ReleaseSet {
    /// Sorted by image.
    pub(super) fn into_releases(self) -> Vec<ReleaseImage> {
        self.releases.into_values().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.releases.len()
    }

    fn release(&mut self, name: &str, digest: &Digest, architecture: &str, image: &ScannedImage) {
        let (image_name, arch) = (format!("{name}@{digest}"), architecture.to_owned());
        self.releases.entry((image_name.clone(), arch.clone())).or_insert_with(|| ReleaseImage {
            image: image_name,
            arch,
            release_metadata: image.metadata.clone(),
        });
    }

    fn problem(&mut self, tag: &str, digest: &Digest, reason: ProblemReason) {
        let (tag, digest) = (tag.to_owned(), Some(digest.clone()));
        self.problems.push(ScanProblem { tag, digest, kept: false, reason });
    }
}

/// An image of an index, or its problem.
type Leaf<'a> = (&'a Digest, Result<&'a ScannedImage, ProblemReason>);

impl<'a> ScannedManifests<'a> {
    /// Adds the releases of a tag.
    pub(super) fn assemble(&self, tag: &str, digest: &'a Digest, to: &mut ReleaseSet) {
        let mut leaves = Vec::new();
        if let Err(reason) = self.leaves(digest, 0, &mut leaves, &mut to.used) {
            return to.problem(tag, digest, reason);
        }
        match leaves.as_slice() {
            // An image, or an index of a single image. The release gets the digest of the tag (also
            // if it is that of the index), because signatures name this digest.
            [(_, Ok(image))] => to.release(self.name, digest, &image.architecture, image),
            [(leaf, Err(reason))] => to.problem(tag, leaf, reason.clone()),
            leaves => {
                for (leaf, image) in leaves {
                    match image {
                        Ok(image) => to.release(self.name, leaf, &image.architecture, image),
                        Err(reason) => to.problem(tag, leaf, reason.clone()),
                    }
                }
                match one_release(leaves) {
                    Ok(image) => to.release(self.name, digest, MULTI, image),
                    Err(reason) => to.problem(tag, digest, reason),
                }
            }
        }
    }

    /// Collects the images of nested indexes.
    fn leaves(
        &self,
        digest: &'a Digest,
        depth: usize,
        leaves: &mut Vec<Leaf<'a>>,
        used: &mut BTreeSet<Digest>,
    ) -> Result<(), ProblemReason> {
        used.insert(digest.clone());
        if leaves.len() == MAX_PLATFORMS {
            return Err(ProblemReason::TooManyPlatforms);
        }
        match self.manifests.get(digest) {
            Some(ScannedManifest::Image(image)) => leaves.push((digest, Ok(image))),
            Some(ScannedManifest::Unusable(reason)) => leaves.push((digest, Err(reason.clone()))),
            Some(ScannedManifest::List(_)) if depth == MAX_INDEX_DEPTH => {
                return Err(ProblemReason::TooDeep);
            }
            Some(ScannedManifest::List(images)) => {
                for image in images {
                    self.leaves(image, depth + 1, leaves, used)?;
                }
            }
            None => {
                let reason = self.unread.get(digest).cloned().unwrap_or(ProblemReason::NoTimeLeft);
                leaves.push((digest, Err(reason)));
            }
        }
        Ok(())
    }
}

/// The release of an index: all images must be readable and have the same version.
fn one_release<'a>(leaves: &[Leaf<'a>]) -> Result<&'a ScannedImage, ProblemReason> {
    if let Some((image, _)) = leaves.iter().find(|(_, image)| image.is_err()) {
        return Err(ProblemReason::Incomplete { image: (*image).clone() });
    }
    let mut images = leaves.iter().filter_map(|(_, image)| image.as_ref().ok());
    let versions: BTreeSet<String> =
        images.clone().map(|image| printable(image.metadata.version.to_string())).collect();
    match images.next_back() {
        Some(last) if versions.len() == 1 => Ok(last),
        _ => Err(ProblemReason::DifferentVersions { versions: versions.into_iter().collect() }),
    }
}
