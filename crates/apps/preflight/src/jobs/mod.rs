//! Checks of components, which run as Jobs.
//!
//! [`find`] selects the checks of a release, `runner` requests and watches their Jobs, `state`
//! derives the end of a Job, and `creator` creates Jobs.

mod creator;
pub mod find;
mod follow;
mod runner;
mod state;

pub use creator::{DirectJobCreator, JobCreator, JobCreatorError, OperatorJobCreator};
pub use runner::JobRunner;
