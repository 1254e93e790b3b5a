//! The stage `preflight`: runs the checks of a target release against this cluster.
//!
//! A request with the mode `Preflight` is not an update. The operator starts the target release
//! beside itself, with read access only, and reports its findings as risks of the update and in
//! three conditions. The rollout is not affected. At most one run exists in the cluster, and the
//! operator removes it before it creates another. After a restart, the operator finds a run by its
//! Deployment, and continues it if it is on the same node.
//!
//! | module | content |
//! | --- | --- |
//! | `stage`, `inputs` | the loop: decisions about requests, runs and results; its inputs |
//! | `request` | interpretation of `spec.desiredUpdate` |
//! | `attempt` | processing of one request: timeouts, retries, end |
//! | `fetcher` | retrieval and verification of the target release |
//! | `run_state` | the single run in the cluster |
//! | `deployment`, `writer` | objects of a run, their creation and removal |
//! | `egress` | network policies of a run |
//! | `active_run`, `monitor` | watches of a run, and the decision whether it continues |
//! | `diagnosis` | errors of a run, from Pods and events |
//! | `run_directory`, `results_root` | untrusted files that a run writes on the node |
//! | `reader_roles` | verification that aggregated roles grant read access only |
//! | [`jobs`] | Jobs that a run requests for the checks of components |
//! | [`dry_run`] | server-side dry run of all manifests, by the operator itself |
//! | `image_probe` | availability of the images of the target release, by the operator itself |
//! | `result_store` | results of all targets: risks, records, events, metrics |
//! | `condition` | the three conditions |

mod active_run;
mod attempt;
mod condition;
mod deployment;
mod diagnosis;
pub mod dry_run;
mod egress;
mod fetcher;
mod image_probe;
mod inputs;
pub mod jobs;
mod monitor;
mod reader_roles;
mod request;
pub(crate) mod result_store;
mod results_root;
mod run_directory;
mod run_state;
mod stage;
mod writer;

pub use inputs::{Inputs, PreflightPlacement};
pub use stage::run;
pub use writer::{PreflightWriter, RequestError};

use std::collections::BTreeMap;

use fairway_api::OperatorCondition;
use fairway_api::cluster_version::Release;
use fairway_risk::ReportedRisk;
use jiff::Timestamp;

/// Output of the preflight stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Preflight {
    /// Generation of ClusterVersion that the output reflects.
    pub generation: i64,
    /// `PreflightRunning`, `PreflightCompleted` and `PreflightFailed`.
    pub conditions: [OperatorCondition; 3],
    /// Findings as risks, for the risk ledger.
    pub concerns: Vec<ReportedRisk>,
    /// Releases with results that the update service does not offer.
    pub not_offered: Vec<Release>,
    /// Summary of each release with results, by image.
    pub outcomes: BTreeMap<String, PreflightOutcome>,
    /// Whether no object of a preflight is left in the cluster. An update starts after that.
    pub is_clear: bool,
}

/// Summary of the results of a target release, for the gate of updates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreflightOutcome {
    /// Whether all checks have a current result, about the running release.
    pub complete: bool,
    /// Time since which the results are no longer updated; `None` while a run updates them.
    pub left: Option<Timestamp>,
    /// Whether the preflight for the requested update has ended. Earlier results may be weeks old.
    pub answers: bool,
    /// Names of the findings that block the update. An update that skips minor versions requires
    /// that all of them are accepted.
    pub findings: Vec<String>,
}
