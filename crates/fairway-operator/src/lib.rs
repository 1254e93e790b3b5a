//! The cluster-version operator: what a cluster may update to, and why not.
//!
//! [`cluster`] is what it sees, [`stage`] what it makes of that.
//! [`cluster`] is what it sees, [`election`] decides whether it may write, [`metrics`] are what it
//! [`run`] is all of it: [`cluster`] is what it sees, [`election`] decides whether it may write, [`metrics`] are what it
//! counts, and [`endpoint`] tells them.

mod clock;
pub mod cluster;
pub mod stage;
//! [`cluster`] is what it sees, [`election`] decides whether it may write.
pub mod election;
pub mod endpoint;
pub mod metrics;
mod operator;
pub mod settings;

pub use operator::{OperatorError, run};
pub use settings::Settings;
