//! What a release is. This crate is pure: it knows no registry, no network and no clock.
//!
//! * [`ReleaseMetadata`] is what a release image says about itself: its version, and which
//!   versions come before and after it.

pub mod metadata;

pub use metadata::ReleaseMetadata;
