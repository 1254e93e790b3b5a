//! Release payloads. This crate is pure: no registry, network or clock.
//!
//! * [`ReleaseMetadata`] is the metadata of a release image: its version and its updates.
//! * [`ImageReferences`] are the images of a release.
//! * [`payload`] loads a [`Release`] from its files.
//! * [`inclusion`] selects the manifests for a cluster, [`version_hash`] hashes them.
//! * [`with_zero_values`] adds required fields that a manifest omits.
//! * [`task_graph`] orders the manifests.
//! * [`Verification`] is the signature policy of a release for its successors.
//! * [`ReleaseBuilder`] builds a release from the manifests of operators.
//! * [`changes`] compares two releases.
//! * [`architecture`] maps names of architectures.

pub mod architecture;
pub mod builder;
pub mod changes;
mod go_fields;
pub mod image_references;
mod image_stream;
pub mod inclusion;
pub mod manifest;
pub mod metadata;
pub mod payload;
pub mod task_graph;
mod verification;
mod version_hash;
mod zero_values;

#[doc(hidden)]
pub use builder as draft;
pub use builder::{BuiltRelease, ReleaseBuilder};
#[doc(hidden)]
pub use builder::{BuiltRelease as DraftedRelease, ReleaseBuilder as Draft};
pub use fairway_schema::ZeroValue;
pub use image_references::ImageReferences;
pub use manifest::{Manifest, ObjectId};
pub use metadata::ReleaseMetadata;
pub use payload::Release;
pub use task_graph::TaskGraph;
pub use verification::{Verification, VerificationError};
pub use version_hash::version_hash;
pub use zero_values::with_zero_values;
