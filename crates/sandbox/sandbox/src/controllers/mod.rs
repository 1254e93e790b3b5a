//! The controllers: what keeps a cluster's objects as they should be.
//!
//! Each of them watches, takes what changed in turn, and brings it one step closer to what it should
//! be. What that step is is decided by functions of their arguments, in the modules `plan`.

mod candidates;
mod cluster_role;
mod daemon_set;
mod definition_cleanup;
mod departure;
mod deployment;
mod garbage;
mod job;
mod machinery;
mod namespace;
mod owner;
mod placement;
mod pod;
mod pod_control;
mod replica_set;
mod root_ca;
mod scheduler;
mod service_account;
mod share;
mod template_hash;
#[cfg(test)]
mod tests;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Api;

/// Starts all controllers, which end when `cancel` says so. The certificate is the one by which pods
/// know the API server, as PEM.
pub fn run(api: &Api, certificate: &str, cancel: &CancellationToken, tracker: &TaskTracker) {
    macro_rules! start {
        ($($controller:expr),* $(,)?) => {
            $(tracker.spawn(machinery::run($controller, cancel.clone()));)*
        };
    }
    start![
        cluster_role::ClusterRoles::new(api),
        daemon_set::DaemonSets::new(api),
        definition_cleanup::DefinitionCleanup::new(api),
        deployment::Deployments::new(api),
        garbage::GarbageCollector::new(api),
        job::Jobs::new(api),
        namespace::Namespaces::new(api),
        replica_set::ReplicaSets::new(api),
        root_ca::RootCertificates::new(api, certificate),
        scheduler::Scheduler::new(api),
        service_account::ServiceAccounts::new(api),
    ];
}
