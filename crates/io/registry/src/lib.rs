//! Container images without a container engine: build, store in OCI layouts, push, pull, verify.
//!
//! * [`Layer`] and [`Image`] are built from files and are reproducible.
//! * [`base`] builds the base image of releases, [`program`] finds the shared libraries of a
//!   binary.
//! * [`layout`] stores images in a directory, [`push`] sends one to a registry.
//! * [`pull`] reads tags, manifests and blobs from a registry and trusts none of them.
//! * [`contents`] reads selected files of an image into memory.
//! * [`mirrors`] maps repositories to their mirrors, [`payload`] reads a release from its sources.
//! * [`probe`] checks that an image is available, without storing it.
//! * [`releases`] lists the releases of a repository or a layout and caches what it has read.
//! * [`signature`] verifies and creates signatures of images.
//! * [`unpack`](mod@unpack) unpacks untrusted layers into a directory.

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
