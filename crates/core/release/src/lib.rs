//! What a release is. This crate is pure: it knows no registry, no network and no clock.
//!
//! * [`ReleaseMetadata`] is what a release image says about itself: its version, and which
//!   versions come before and after it.
//! * [`ImageReferences`] are its images.
//! * [`payload`] reads all of a release: files in, a [`Release`] out.
//! * [`inclusion`] tells which of its manifests a cluster gets, and [`version_hash`] names them all
//!   with one word.
//! * [`with_zero_values`] adds required fields that a manifest leaves out.
//! * [`task_graph`] puts them in order, as far as there has to be one.
//! * [`Verification`] is whose signatures count for the releases that come after it.
//! * A [`Draft`] is a release that is being made: files of operators in, files of an image out.
//! * [`changes`] says what is different in another release.
//! * [`architecture`] has the words for machines.

pub mod architecture;
pub mod changes;
pub mod draft;
mod go_fields;
pub mod image_references;
mod image_stream;
pub mod inclusion;
pub mod manifest;
pub mod metadata;
mod packed;
pub mod payload;
pub mod task_graph;
mod turn;
mod verification;
mod version_hash;
mod zero_values;

pub use draft::{Draft, DraftedRelease};
pub use fairway_schema::ZeroValue;
pub use image_references::ImageReferences;
pub use manifest::{Manifest, ObjectId};
pub use metadata::ReleaseMetadata;
pub use payload::Release;
pub use task_graph::TaskGraph;
pub use verification::{Verification, VerificationError};
pub use version_hash::version_hash;
pub use zero_values::with_zero_values;
