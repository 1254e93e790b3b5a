//! Compatibility with a target release. This crate is pure: it uses no cluster and no clock.
//!
//! * [`KubernetesMinor`] is a minor version of Kubernetes, which removes APIs.
//! * [`removed_apis`] lists the APIs that Kubernetes removes.
//! * [`olm`] determines which cluster versions installed OLM operators support.

mod kubernetes_minor;
pub mod olm;
pub mod removed_apis;

pub use kubernetes_minor::KubernetesMinor;

#[doc(hidden)]
pub use self::KubernetesMinor as Minor;
