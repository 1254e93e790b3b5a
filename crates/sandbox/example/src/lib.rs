//! The example platform: a small platform with six operators and six releases, to try updates with.
//!
//! `examples/platform` contains its manifests, the changes of each release, and its graph-data.
//! They are embedded in the binary. [`Platform::make`] builds and signs the images of all releases
//! from the running binary. The operators run the same binary and report the status that their
//! release and a ConfigMap define.
//!
//! | module | content |
//! | --- | --- |
//! | [`release`], `files` | releases and their manifests, from the embedded files |
//! | [`payload`], [`graph`] | files of a release image and of graph-data |
//! | [`images`] | images of the platform, built and signed |
//! | [`operator`] | the platform's operators, with simulated behaviour |
//! | [`check`] | their preflight checks |
//! | `operator_manifests` | manifests of the cluster-version operator, for test clusters |

pub mod check;
mod files;
pub mod graph;
pub mod images;
pub mod operator;
mod operator_manifests;
pub mod payload;
pub mod release;

pub use images::Platform;
pub use operator_manifests::{OperatorManifestsError, OperatorPorts, adapt_for_sandbox};
pub use release::{COMPONENTS, Component, RELEASES, Release};
