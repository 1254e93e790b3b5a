//! The cluster-version operator: recommends, accepts and rolls out releases of a platform.
//!
//! [`run`] loads the operator's own release, serves metrics and probes, and waits for the Lease.
//! The leader opens the watches of [`cluster`] and runs the six stages of [`stage`], each as a
//! task. A stage reads watches and the snapshots of other stages, and publishes its own snapshot
//! through a `tokio::sync::watch` channel. Every write requires
//! [`Leadership`](election::Leadership), so a replica that loses the Lease stops writing at once.
//! When a rollout replaces the operator, the leader releases the Lease to the operator of the new
//! release.
//!
//! The operator may write any object, because a release may contain any. A test runs it with only
//! the permissions that its own work needs, and compares them with the audit log.
//!
//! | module | content |
//! | --- | --- |
//! | `operator` | start and shutdown: endpoint, leader election, stages |
//! | [`cluster`] | watches of the objects that the operator reads |
//! | [`stage`] | the stages, from available updates to the status of ClusterVersion |
//! | `retrieval` | retrieval of releases: verified signature, then content |
//! | [`own_release`] | the release that the operator belongs to |
//! | [`payload`] | manifests of a release for this cluster |
//! | [`apply`] | writes of managed objects, drift detection, readiness, dry run |
//! | `records` | records in `ConfigMaps`, written at a limited rate |
//! | `event` | events about ClusterVersion |
//! | `flow_control` | priority of the operator's requests at a busy API server |
//! | [`metrics`], [`endpoint`] | metrics, and the HTTP endpoint for them and for probes |
//! | [`settings`], `names` | settings, and names of the operator's own objects |
//! | `sync`, `text` | locks and channels of tasks, and quotes of untrusted texts |

pub mod apply;
pub mod cluster;
pub mod endpoint;
mod event;
mod flow_control;
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
