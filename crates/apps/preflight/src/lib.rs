//! The target release's side of a preflight: examines a cluster, read-only, and reports what would
//! break with the update.
//!
//! [`Runner`](runner::Runner) runs the checks that [`Engine`](engine::Engine) selects, and passes
//! their outcomes back. The engine is a state machine without a clock: it schedules checks, and
//! combines all results into one document. In the pod of the target release,
//! [`monitor()`](monitor::monitor) writes this document to a shared directory, and requests Jobs
//! through another file. The operator of the running release creates those that it allows. With
//! `fairway preflight --once` there is no operator: [`DirectJobCreator`](jobs::DirectJobCreator)
//! creates the Jobs with the credentials of the user.
//!
//! | module | content |
//! | --- | --- |
//! | [`check`], [`checks`] | interface, execution and implementation of built-in checks |
//! | [`cluster`], [`installed_operators`] | read-only access to the cluster and to OLM |
//! | [`target`] | the target release and the manifests that the cluster gets |
//! | [`engine`] | schedule and results of all checks |
//! | [`runner`], `watches` | execution of checks, again after changes of the objects they read |
//! | [`jobs`] | checks of components, as Jobs |
//! | [`results`] | result files, written atomically |
//! | [`monitor`] | a run in the pod of the target release |
//! | [`settings`] | settings of a run |
//! | `pods`, `resources`, `wording` | pods, resources and phrases that several checks use |

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
