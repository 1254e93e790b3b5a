//! The cluster-version operator: recommends, accepts and rolls out releases of a platform.
//!
//! [`run`] starts all of it. [`cluster`] watches the objects that the operator reads, [`stage`] has
//! the six stages of the pipeline from available updates to the status of ClusterVersion,
//! [`election`] is leader election, [`apply`] writes the objects of a [`payload`] and corrects
//! drift, [`metrics`] has the metrics, and [`endpoint`] serves them.

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
mod sync;
mod text;

pub use fairway_election as election;
pub use operator::{OperatorError, run};
pub use settings::Settings;
