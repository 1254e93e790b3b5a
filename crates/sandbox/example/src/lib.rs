//! The example platform: a small one to try updates on, with six operators and six releases.
//!
//! `examples/platform` has its manifests and its graph-data; they are part of the program.
//!
//! * [`release`] says which releases there are, and renders their manifests.
//! * [`payload`] makes the files of a release image of them, [`graph`] those of graph-data.
//! * [`images`] makes the images, from the running program: nothing else is needed.
//! * [`operator`] is the operators' program, [`check`] has their checks.

pub mod check;
mod files;
pub mod graph;
pub mod images;
pub mod operator;
mod own;
pub mod payload;
pub mod release;

pub use images::Platform;
pub use own::{OwnError, for_the_sandbox, with_checks_on_the_host};
pub use release::{COMPONENTS, Component, RELEASES, Release};
