//! The example platform: a small platform with six operators and six releases, to try updates with.
//!
//! `examples/platform` contains its manifests and its graph-data, which are embedded in the binary.
//!
//! * [`release`] defines the releases and renders their manifests.
//! * [`payload`] builds the files of a release image, [`graph`] those of graph-data.
//! * [`images`] builds the images from the running binary.
//! * [`operator`] is the binary of the operators, [`check`] contains their preflight checks.

pub mod check;
mod files;
pub mod graph;
pub mod images;
pub mod operator;
mod operator_manifests;
pub mod payload;
pub mod release;

pub use images::Platform;
pub use operator_manifests::{
    OperatorManifestsError, adapt_for_sandbox, use_host_network_for_checks,
};
#[doc(hidden)]
pub use operator_manifests::{
    adapt_for_sandbox as for_the_sandbox, use_host_network_for_checks as with_checks_on_the_host,
};
pub use release::{COMPONENTS, Component, RELEASES, Release};
