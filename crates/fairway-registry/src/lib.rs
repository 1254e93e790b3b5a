//! Images: made without a container engine, kept in OCI layout directories, pushed to registries.
//!
//! * A [`Layer`] is made from files; the same files give the same bytes, wherever and whenever.
//! * An [`Image`] is layers and a configuration, and knows its digest.
//! * [`program`] tells what a program of this machine needs to run in an image.
//! * [`layout`] keeps an image in a directory, [`push`] sends it to a registry.

mod digest;
mod image;
mod layer;
pub mod layout;
pub mod program;
pub mod push;

pub use digest::Digest;
pub use image::{Blob, Image, ImageConfig};
pub use layer::{Layer, LayerBuilder, LayerError};
