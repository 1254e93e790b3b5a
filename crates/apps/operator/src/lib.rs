//! The cluster-version operator: what a cluster may update to, why not, and the update itself.
//!
//! [`run`] is all of it: [`cluster`] is what it sees, [`stage`] what it makes of that, [`election`]
//! decides whether it may write, [`apply`] brings one object of a [`payload`] into the cluster,
//! [`metrics`] are what it counts, and [`endpoint`] tells them.

pub mod apply;
pub mod cluster;
pub mod endpoint;
mod event;
pub mod metrics;
mod names;
mod operator;
pub mod own_release;
pub mod payload;
mod records;
mod retrieval;
pub mod settings;
pub mod stage;
mod text;

pub use fairway_election as election;
pub use operator::{OperatorError, run};
pub use settings::Settings;
