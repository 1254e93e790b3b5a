//! One object of a release, into the cluster, and kept there.
//!
//! [`Applier`] does it: `prepare` says what the object is to be, [`fairway_apply::drift`] whether it
//! is, and only what is not right is written. Every object that is written carries a label, so that one watch
//! for each kind tells all there is to know: nothing is asked for twice, and whatever changes or
//! vanishes is told at once ([`Changes`]). [`Keeper`] says when it is repaired, and [`health`]
//! whether an object does what it is there for.

mod applier;
mod arrivals;
mod changes;
mod discovery;
mod error;
mod fight;
pub mod health;
mod keeper;
mod live;
mod new_kinds;
mod prepare;
mod rehearsal;
mod settled;
mod task;
mod watched;

pub use applier::Applier;
pub use arrivals::Arrival;
pub use changes::Changes;
pub(crate) use discovery::defines;
pub use error::ApplyError;
pub use health::Health;
pub use keeper::Keeper;
pub use live::Live;
pub use prepare::{Context, Owner, Unprepared};
pub(crate) use prepare::{depends_on_surroundings, is_create_only};
pub use rehearsal::{Rehearsal, Rehearsed};
pub use task::{Applied, Outcome};
