//! Container images without a container engine: build, store in OCI layouts, push, pull, verify.
//!
//! * A [`Layer`] of files on a base gives an [`Image`]. It contains neither times nor an order of
//!   files, so the same input gives the same digest.
//! * [`payload::fetch`] reads a release by digest: from OCI layouts, then from mirrors, then from
//!   the repository of the image. Its error has the reason of every source.
//! * [`releases::scan()`] lists the releases of a repository. Content never changes under its
//!   digest, so a scan with the [`ScanCache`](releases::ScanCache) of the last one reads only new
//!   manifests.
//! * [`Verifier`](signature::Verifier) verifies the signatures of a release.
//!
//! Registries, layouts and layers are not trusted: everything has a limit, and content counts only
//! after its digest is verified.
//!
//! | module | content |
//! | --- | --- |
//! | `layer`, `image`, `digest` | layers, images and digests |
//! | [`base`], [`program`] | base image of releases, and shared libraries of a binary |
//! | [`layout`] | OCI layouts: writer and reader |
//! | [`push`] | upload to a registry |
//! | [`pull`] | tags, manifests and blobs of a registry |
//! | `manifest`, `source` | manifests and indexes; a registry or a layout as the source of images |
//! | [`contents`] | selected files of an image, in memory |
//! | [`mirrors`] | mirrors of repositories |
//! | [`payload`] | payload of a release image, from its sources |
//! | [`probe`] | availability of an image in its sources |
//! | [`releases`] | releases of a repository or a layout, with a cache |
//! | [`signature`] | verification and creation of signatures |
//! | [`unpack`](mod@unpack) | unpacked images in a directory |

pub mod base;
pub mod contents;
mod digest;
mod image;
mod layer;
pub mod layout;
mod manifest;
pub mod mirrors;
pub mod payload;
pub mod probe;
pub mod program;
pub mod pull;
pub mod push;
pub mod releases;
pub mod signature;
mod source;
pub mod unpack;

pub use digest::Digest;
pub use image::{Blob, Image, ImageConfig};
pub use layer::{Layer, LayerBuilder, LayerError};
