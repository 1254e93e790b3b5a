//! The checks of the release's operators: Jobs.
//!
//! [`find`] says which there are, `board` asks for them and watches them, `state` tells what has
//! become of one, and `collect` what it answers. Whoever may create them is somebody else.

mod board;
mod collect;
pub mod find;
mod follow;
mod hands;
mod state;

pub use board::Board;
pub use hands::{Hands, Operator};

/// The namespace of all check Jobs.
pub const NAMESPACE: &str = "openshift-cluster-version-preflight";

/// The label with the run that a Job belongs to.
pub const RUN_LABEL: &str = "fairway.dev/preflight-run";
