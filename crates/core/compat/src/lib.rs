//! What will not run on a target release. This crate is pure: it knows no cluster and no clock.
//!
//! * [`Minor`] is a minor version of Kubernetes, by which APIs come and go.
//! * [`removed_apis`] has the APIs of Kubernetes itself that go.
//! * [`olm`] knows up to which version of the platform installed operators run.

mod minor;
pub mod olm;
pub mod removed_apis;

pub use minor::Minor;
