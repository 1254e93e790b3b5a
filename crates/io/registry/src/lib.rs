//! Images: made without a container engine, kept in OCI layout directories, pushed to registries.
//!
//! * A [`Layer`] is made from files; the same files give the same bytes, wherever and whenever.
//! * An [`Image`] is layers and a configuration, and knows its digest.
//! * [`program`] tells what a program of this machine needs to run in an image, and [`base`] makes
//!   the image of ours.
//! * [`layout`] keeps images in a directory and finds them there, [`push`] sends one to a registry.
//! * [`pull`] reads from a registry: tags, manifests and blobs, none of them trusted.
//! * [`contents`] reads some files of an image into memory.
//! * [`mirrors`] tells which other places have an image, and [`payload`] reads a release from them.
//! * [`probe`] tells whether an image is to be had, without keeping it.
//! * [`releases`] finds the releases of a repository or a layout, and fetches nothing twice.
//! * [`signature`] tells whether somebody whom we trust has signed an image.
//! * [`unpack`](mod@unpack) makes a directory of files from an image's layers, and trusts none of them.

pub mod base;
pub mod contents;
mod digest;
mod image;
mod layer;
pub mod layout;
mod manifest;
pub mod mirrors;
pub mod payload;
mod plain;
pub mod probe;
pub mod program;
pub mod pull;
pub mod push;
pub mod releases;
pub mod signature;
pub mod unpack;

pub use digest::Digest;
pub use image::{Blob, Image, ImageConfig};
pub use layer::{Layer, LayerBuilder, LayerError};
