//! Reports about updates of a cluster: status, recommendations, upgrade paths and explanations.
//!
//! This crate is pure. [`ClusterObjects`] are the objects of a cluster at one time, live or
//! recorded; all reports are computed from them. Unavailable data is never an empty list: see
//! [`Alerts`].
//!
//! * [`Status`]: progress of an update, problems, and resources that it waits for.
//! * [`Recommendation`]: available updates and the issues before an update.
//! * [`FleetReport`]: updates of several clusters and their blockers.
//! * [`Plan`](plan::Plan): upgrade paths to a version.
//! * [`Explanation`]: sources, rules and effects of a risk, or blockers of an update.
//! * [`RequestStatus`]: state of a request in `spec.desiredUpdate`.
//!
//! The facts match those of `oc adm upgrade status` and `oc adm upgrade recommend` for the same
//! cluster. Each report is one type: the text output renders the fields of the JSON document.
//!
//! | module | content |
//! | --- | --- |
//! | `cluster`, [`objects`] | the objects of a cluster, and the fields that reports use |
//! | [`alerts`] | alerts, and whether they are available |
//! | [`status`] | progress of the control plane, nodes and pools; problems; remaining time |
//! | [`recommend`] | available updates, checks of alerts, issues to accept |
//! | [`plan`] | upgrade paths to a goal, with risks and prerequisites of each hop |
//! | [`explain`] | explanations of risks and updates |
//! | [`fleet`] | reports about several clusters, and their common risks |
//! | [`request`] | state of update and preflight requests |
//! | [`exposure`] | exposure of a cluster to risks, from its ClusterVersion |
//! | `text` | durations, and arguments of commands |

pub mod alerts;
mod cluster;
pub mod explain;
pub mod exposure;
pub mod fleet;
pub mod objects;
pub mod plan;
pub mod recommend;
pub mod request;
#[cfg(test)]
mod robustness;
pub mod status;
mod text;

pub use alerts::{Alert, Alerts};
pub use cluster::{ClusterObjects, ObservationTime};
pub use explain::Explanation;
pub use exposure::Exposure;
pub use fleet::FleetReport;
pub use recommend::Recommendation;
pub use request::{PreflightPhase, RequestState, RequestStatus};
pub use status::Status;
pub use text::{DurationText, ShellWord};

/// Whether a cluster can update, the common result of plans, recommendations and explanations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No unaccepted risk or issue blocks the update.
    Yes,
    /// A risk or an issue blocks the update, or there is no upgrade path.
    No,
    /// The data is incomplete.
    Unknown,
}
