//! The graph-data of the platform, and its releases for the update service.

use fairway_registry::releases::ReleaseImage;

use crate::images::BuiltRelease;
use crate::{files, payload};

/// The files of graph-data, by path.
pub fn data() -> impl Iterator<Item = (&'static str, &'static str)> {
    files::below("graph-data")
}

/// The entry of a release image in a list of releases.
pub fn release_image(made: &BuiltRelease) -> ReleaseImage {
    ReleaseImage {
        image: made.reference.clone(),
        arch: fairway_release::architecture::of_machine(std::env::consts::ARCH).to_owned(),
        release_metadata: payload::metadata(&made.release),
    }
}
