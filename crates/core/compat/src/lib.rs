//! Compatibility with a target release: removed Kubernetes APIs, and installed OLM operators.
//!
//! This crate is pure: it uses no cluster and no clock. The OLM guard, the built-in checks of a
//! preflight and the command line share its decisions.
//!
//! * [`KubernetesMinor`] is a minor version of Kubernetes, which removes APIs.
//! * [`removed_apis`] has the table of removed APIs. `cargo xtask gen` generates it.
//! * [`olm`] determines which cluster versions installed OLM operators support. A malformed
//!   annotation causes a message and has no other effect.

mod kubernetes_minor;
pub mod olm;
pub mod removed_apis;

pub use kubernetes_minor::KubernetesMinor;
