//! Applies the objects of a release, and detects and corrects drift.
//!
//! [`Applier`] writes one object: `prepare` makes the desired object from its manifest,
//! [`fairway_apply::drift`] compares it with the live object, and only objects with drift are
//! written. Every written object has a label, so that one watch for each kind covers all managed
//! objects ([`Changes`]). [`DriftBackoff`] decides when drift correction happens, and [`health`]
//! whether an object is ready.
//!
//! | module | content |
//! | --- | --- |
//! | `applier` | writer of the objects of manifests |
//! | `prepare` | the desired object: manifest, injected configuration, required fields |
//! | `reconcile` | drift correction of one object: comparison with its manifest, then a write, creation or deletion |
//! | `cache`, `live_object` | managed objects of a kind, compressed, and subscriptions to changes |
//! | `discovery` | served kinds, cached by group and version |
//! | `new_kinds` | kinds whose CRD this process has created |
//! | `prerequisites` | kinds and namespaces that another manifest creates |
//! | `drift_backoff` | backoff of repeated corrections, and contention with other writers |
//! | `server_defaults` | changes that the API server makes to every write |
//! | [`health`] | readiness of an object |
//! | `dry_run` | dry run of the objects of a release |
//! | `error` | errors and their reasons in conditions |

mod applier;
mod cache;
mod discovery;
mod drift_backoff;
mod dry_run;
mod error;
pub mod health;
mod live_object;
mod new_kinds;
mod prepare;
mod prerequisites;
mod reconcile;
mod server_defaults;

pub use applier::Applier;
pub use cache::Changes;
pub(crate) use discovery::defines;
pub use drift_backoff::DriftBackoff;
pub use dry_run::{DryRun, DryRunResult};
pub use error::ApplyError;
pub use health::Health;
pub use live_object::LiveObject;
pub use prepare::{ApplyContext, Owner, PrepareError};
pub(crate) use prepare::{depends_on_injected_config, is_create_only};
pub use prerequisites::Prerequisite;
pub use reconcile::{ApplyOutcome, ApplyResult};
