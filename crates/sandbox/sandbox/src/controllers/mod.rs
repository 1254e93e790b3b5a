//! Controllers of the sandbox: workload controllers, scheduler, garbage collector and namespace
//! lifecycle.
//!
//! Each controller watches resources and reconciles the objects that change. The decisions are pure
//! functions in `plan` modules; the controllers execute them.
//!
//! | module | content |
//! | --- | --- |
//! | `runtime` | watches, workqueue and reconcile loop |
//! | `deployment`, `replica_set`, `daemon_set`, `job` | workload controllers |
//! | `scheduler`, `node_filter` | binding of pods to nodes, and filters of nodes |
//! | `garbage_collector` | deletion of objects whose owners are deleted |
//! | `namespace` | deletion of namespaces, and objects that every namespace contains |
//! | `crd_finalizer` | deletion of the custom resources of a deleted CRD |
//! | `cluster_role` | aggregated `ClusterRoles` |
//! | `pod`, `ownership` | state of pods, and adoption and release of objects |
//! | `rollout`, `deletion_rank` | values of rolling updates, and deletion order of surplus pods |

mod cluster_role;
mod crd_finalizer;
mod daemon_set;
mod deletion_rank;
mod deployment;
mod garbage_collector;
mod job;
mod namespace;
mod node_filter;
mod ownership;
mod pod;
mod replica_set;
mod rollout;
mod runtime;
mod scheduler;
#[cfg(test)]
mod tests;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::Api;

/// Starts all controllers until `cancel`. `certificate` is the CA certificate of the API server
/// (PEM), which pods get.
pub fn run(api: &Api, certificate: &str, cancel: &CancellationToken, tracker: &TaskTracker) {
    macro_rules! start {
        ($($controller:expr),* $(,)?) => {
            $(tracker.spawn(runtime::run($controller, cancel.clone()));)*
        };
    }
    start![
        cluster_role::ClusterRoles::new(api),
        daemon_set::DaemonSets::new(api),
        crd_finalizer::CrdFinalizer::new(api),
        deployment::Deployments::new(api),
        garbage_collector::GarbageCollector::new(api),
        job::Jobs::new(api),
        namespace::Namespaces::new(api),
        replica_set::ReplicaSets::new(api),
        namespace::RootCaPublisher::new(api, certificate),
        scheduler::Scheduler::new(api),
        namespace::ServiceAccounts::new(api),
    ];
}
