//! Release payloads: metadata, images, manifests and their rollout order.
//!
//! This crate is pure: no registry, network or clock. The files of a release image are the input.
//!
//! 1. [`Release::load`] parses the files. It returns the release, or all problems with file and
//!    line; a broken document does not hide problems of the next.
//! 2. [`ManifestFilter`](inclusion::ManifestFilter) selects the manifests for a cluster. An
//!    [`Exclusion`](inclusion::Exclusion) is the first rule that excludes a manifest. Manifests of
//!    preflight checks are selected separately, and no update applies them.
//! 3. [`TaskGraph`] orders the selected manifests, and
//!    [`GraphExecution`](task_graph::GraphExecution) determines which of them can start now.
//!
//! [`ReleaseBuilder`] is the other direction: it builds the files of an image from the manifests of
//! operators.
//!
//! | module | content |
//! | --- | --- |
//! | [`metadata`] | version and updates of a release |
//! | [`image_references`], `image_stream` | images of a release, and the document that lists them |
//! | [`payload`] | loader of a release, with templates and problems |
//! | [`manifest`] | one object, as compressed JSON |
//! | [`inclusion`] | selection of manifests: profiles, features, capabilities, overrides |
//! | `version_hash` | hash of the applied manifests, the same as in existing clusters |
//! | `zero_values` | required fields that manifests omit |
//! | [`task_graph`] | rollout order, its execution and drawings |
//! | `verification` | signature policy of a release for its successors |
//! | [`changes`] | differences between two releases |
//! | [`builder`] | builder of a release: placeholders, pinned images, component versions |
//! | [`architecture`] | names of architectures |
//! | `go_fields` | structures as Go's `encoding/json` reads them |

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

pub use builder::{BuiltRelease, ReleaseBuilder};
pub use fairway_schema::ZeroValue;
pub use image_references::ImageReferences;
pub use manifest::{Manifest, ObjectId};
pub use metadata::ReleaseMetadata;
pub use payload::Release;
pub use task_graph::TaskGraph;
pub use verification::{Verification, VerificationError};
pub use version_hash::version_hash;
pub use zero_values::with_zero_values;
