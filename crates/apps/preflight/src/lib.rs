//! The target release's side of a preflight: examines a cluster, read-only, and reports what would
//! break with the update.
//!
//! | module | responsibility |
//! | --- | --- |
//! | [`check`], [`checks`] | interface and implementation of built-in checks |
//! | [`cluster`], [`installed_operators`] | read-only access to the cluster and to OLM |
//! | [`target`] | the target release and the manifests that the cluster gets |
//! | [`engine`] | schedule and results of all checks |
//! | [`runner`] | executes checks |
//! | [`jobs`] | checks of components, as Jobs |
//! | [`results`] | result files |
//! | [`monitor`] | all of it, in the pod of the target release |

pub mod check;
pub mod checks;
pub mod cluster;
pub mod engine;
pub mod installed_operators;
pub mod jobs;
pub mod monitor;
mod pods;
mod resources;
pub mod results;
pub mod runner;
pub mod settings;
pub mod target;
#[cfg(test)]
mod testing;
mod watches;
mod wording;

pub use settings::new_run;

#[doc(hidden)]
pub use target as selection;
