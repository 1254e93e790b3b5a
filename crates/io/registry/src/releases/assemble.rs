//! Which releases tags and manifests make. This is pure: everything was read before.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::{Image, MOST_PLATFORMS, Manifest};
use super::{Problem, Reason, Release, printable};
use crate::Digest;
use crate::manifest::DEEPEST_INDEX;

/// The architecture of an image that runs on several.
const MULTI: &str = "multi";

/// What is known at the end of a scan.
pub(super) struct Findings<'a> {
    /// The repository, as it stands in the names of images.
    pub(super) name: &'a str,
    /// What was read, now or before.
    pub(super) manifests: &'a BTreeMap<Digest, Manifest>,
    /// What could not be read.
    pub(super) unread: &'a BTreeMap<Digest, Reason>,
}

/// The releases of tags, each once, and what is wrong with the others.
#[derive(Default)]
pub(super) struct Assembled {
    releases: BTreeMap<(String, String), Release>,
    pub(super) problems: Vec<Problem>,
    /// Every manifest that the tags lead to.
    pub(super) used: BTreeSet<Digest>,
}

impl Assembled {
    /// In the order of their images.
    pub(super) fn into_releases(self) -> Vec<Release> {
        self.releases.into_values().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.releases.len()
    }

    fn release(&mut self, name: &str, digest: &Digest, architecture: &str, image: &Image) {
        let (image_name, arch) = (format!("{name}@{digest}"), architecture.to_owned());
        self.releases.entry((image_name.clone(), arch.clone())).or_insert_with(|| Release {
            image: image_name,
            arch,
            release_metadata: image.metadata.clone(),
        });
    }

    fn problem(&mut self, tag: &str, digest: &Digest, reason: Reason) {
        let (tag, digest) = (tag.to_owned(), Some(digest.clone()));
        self.problems.push(Problem { tag, digest, kept: false, reason });
    }
}

/// An image of a list, or why there is none.
type Leaf<'a> = (&'a Digest, Result<&'a Image, Reason>);

impl<'a> Findings<'a> {
    /// Adds what a tag stands for.
    pub(super) fn assemble(&self, tag: &str, digest: &'a Digest, to: &mut Assembled) {
        let mut leaves = Vec::new();
        if let Err(reason) = self.leaves(digest, 0, &mut leaves, &mut to.used) {
            return to.problem(tag, digest, reason);
        }
        match leaves.as_slice() {
            // An image, or a list that wraps a single one: clusters may know either digest, and
            // signatures are made for what has the tag.
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

    /// Follows lists to their images.
    fn leaves(
        &self,
        digest: &'a Digest,
        depth: usize,
        leaves: &mut Vec<Leaf<'a>>,
        used: &mut BTreeSet<Digest>,
    ) -> Result<(), Reason> {
        used.insert(digest.clone());
        if leaves.len() == MOST_PLATFORMS {
            return Err(Reason::TooManyPlatforms);
        }
        match self.manifests.get(digest) {
            Some(Manifest::Image(image)) => leaves.push((digest, Ok(image))),
            Some(Manifest::Unusable(reason)) => leaves.push((digest, Err(reason.clone()))),
            Some(Manifest::List(_)) if depth == DEEPEST_INDEX => return Err(Reason::TooDeep),
            Some(Manifest::List(images)) => {
                for image in images {
                    self.leaves(image, depth + 1, leaves, used)?;
                }
            }
            None => {
                let reason = self.unread.get(digest).cloned().unwrap_or(Reason::NoTimeLeft);
                leaves.push((digest, Err(reason)));
            }
        }
        Ok(())
    }
}

/// What a list says: all of its images have to be there, and to be the same release.
fn one_release<'a>(leaves: &[Leaf<'a>]) -> Result<&'a Image, Reason> {
    if let Some((image, _)) = leaves.iter().find(|(_, image)| image.is_err()) {
        return Err(Reason::Incomplete { image: (*image).clone() });
    }
    let mut images = leaves.iter().filter_map(|(_, image)| image.as_ref().ok());
    let versions: BTreeSet<String> =
        images.clone().map(|image| printable(image.metadata.version.to_string())).collect();
    match images.next_back() {
        Some(last) if versions.len() == 1 => Ok(last),
        _ => Err(Reason::DifferentVersions { versions: versions.into_iter().collect() }),
    }
}
