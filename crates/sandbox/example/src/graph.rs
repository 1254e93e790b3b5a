//! The graph-data of the platform, and its releases as the update service reads them.

use fairway_registry::releases::Release as ReleaseImage;

use crate::images::MadeRelease;
use crate::{files, payload};

/// The files of graph-data, by path.
pub fn data() -> impl Iterator<Item = (&'static str, &'static str)> {
    files::below("graph-data")
}

/// What is said about a release image in a list of releases.
pub fn release_image(made: &MadeRelease) -> ReleaseImage {
    ReleaseImage {
        image: made.reference.clone(),
        arch: fairway_release::architecture::of_machine(std::env::consts::ARCH).to_owned(),
        release_metadata: payload::metadata(&made.release),
    }
}
