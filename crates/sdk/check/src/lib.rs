//! For authors of components: write a check, and a release runs it before a cluster is updated.
//!
//! A check is a program in the component's image. The release that a cluster may be updated to
//! ships it as a Job; it looks at the cluster, which still runs another release, and says what that
//! release would stumble over. It changes nothing, and cannot: it only gets to read.
//!
//! ```no_run
//! use fairway_check::{CannotTell, Check, Context, Finding};
//!
//! struct Storage;
//!
//! impl Check for Storage {
//!     fn name(&self) -> &str {
//!         "storage"
//!     }
//!
//!     async fn run(&self, context: &Context) -> Result<Vec<Finding>, CannotTell> {
//!         let message = format!("Volumes cannot be mounted with {}.", context.target());
//!         Ok(vec![Finding::critical("VolumesNotMountable", message)])
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     fairway_check::main(Storage)
//! }
//! ```
//!
//! [`main`] does the rest: it reads what the check is told, sees to it that there is an answer in
//! time whatever the check does, and writes that answer where it is looked for. A check that cannot
//! tell says so; it never passes by accident. `docs/components/writing-a-check.md` is the guide, and
//! `fairway-check-testing` runs checks against clusters made of fixtures.

mod answer;
mod cannot_tell;
mod check;
pub mod cluster;
mod context;
mod delivery;
pub mod manifests;
mod memory;
mod program;
mod run;
mod settings;
mod skew;

pub use cannot_tell::{CannotTell, IfServed};
pub use check::Check;
pub use cluster::Cluster;
pub use context::Context;
pub use fairway_findings::{Finding, Severity};
pub use manifests::Manifests;
pub use program::{Ending, main, main_with};
pub use run::run;
pub use settings::{Settings, SettingsError};
pub use skew::Skew;

pub use semver::Version;
