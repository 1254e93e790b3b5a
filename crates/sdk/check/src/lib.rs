//! SDK for authors of components: checks that a release runs before a cluster is updated to it.
//!
//! A check is a program in the component's image. The target release ships it as a Job. It examines
//! the cluster, which still runs another release, and reports what would break with the update. It
//! has read access only.
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
//! [`main`] parses settings, runs the check with a timeout, and writes its result. A [`Context`]
//! has a read-only [`Cluster`], the [`Manifests`] of the target release, and both versions. A check
//! without a result reports the reason ([`CannotTell`]); it never passes by accident.
//! `docs/components/writing-a-check.md` is the guide, and `fairway-check-testing` runs checks
//! against test clusters.
//!
//! | module | content |
//! | --- | --- |
//! | `check`, `context` | interface and inputs of checks |
//! | [`cluster`] | read-only access to a cluster: pages, rate limit, retries |
//! | [`manifests`] | manifests of the target release |
//! | `skew` | distance between versions |
//! | `cannot_tell` | reasons why a check has no result |
//! | `program`, `result` | entry point, execution and result |
//! | `settings`, `memory` | settings and the memory limit |

mod cannot_tell;
mod check;
pub mod cluster;
mod context;
pub mod manifests;
mod memory;
mod program;
mod result;
mod settings;
mod skew;

pub use cannot_tell::{CannotTell, IfServed};
pub use check::Check;
pub use cluster::Cluster;
pub use context::Context;
pub use fairway_findings::{Finding, Severity};
pub use manifests::Manifests;
pub use program::{Ending, main, main_with};
pub use result::run;
pub use settings::{Settings, SettingsError};
pub use skew::Skew;

pub use semver::Version;
