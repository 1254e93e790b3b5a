//! The controllers: what keeps a cluster's objects as they should be.

mod candidates;
mod daemon_set;
mod departure;
mod deployment;
mod garbage;
mod job;
mod machinery;
mod owner;
mod placement;
mod pod;
mod pod_control;
mod replica_set;
mod scheduler;
mod share;
mod template_hash;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Api;

/// Starts all controllers. They end when `cancel` does.
pub fn run(api: &Api, cancel: &CancellationToken, tracker: &TaskTracker) {
    tracker.spawn(machinery::run(daemon_set::DaemonSets::new(api), cancel.clone()));
    tracker.spawn(machinery::run(deployment::Deployments::new(api), cancel.clone()));
    tracker.spawn(machinery::run(garbage::GarbageCollector::new(api), cancel.clone()));
    tracker.spawn(machinery::run(job::Jobs::new(api), cancel.clone()));
    tracker.spawn(machinery::run(replica_set::ReplicaSets::new(api), cancel.clone()));
    tracker.spawn(machinery::run(scheduler::Scheduler::new(api), cancel.clone()));
}
