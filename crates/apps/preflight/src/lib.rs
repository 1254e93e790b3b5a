//! The target release's side of a preflight: it looks at a cluster, and says what it would stumble
//! over there, without changing anything.
//!
//! [`check`] is what a built-in check is, `checks` has each of them in a file; [`cluster`] is what
//! they see, and [`target`] the release on whose behalf they look; [`installed_operators`] is what
//! they see of OLM. [`engine`] decides when which
//! check runs, and knows what all of them say; [`runner`] does it, [`jobs`] runs the checks of
//! operators, [`results`] writes what is known, and [`monitor`] is all of that in a pod.

mod built_in;
pub mod check;
pub mod checks;
pub mod cluster;
mod definitions;
pub mod engine;
pub mod installed_operators;
pub mod jobs;
pub mod monitor;
mod pods;
mod quantity;
mod random_names;
mod resources;
pub mod results;
pub mod runner;
pub mod selection;
pub mod settings;
pub mod target;
#[cfg(test)]
mod testing;
mod watching;
mod wording;

pub use random_names::new_run;
