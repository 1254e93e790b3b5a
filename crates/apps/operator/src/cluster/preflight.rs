//! What is seen of a preflight while there is one.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::Objects;
use super::follow::Following;

/// The latest state of what belongs to a preflight. Watching ends when nobody looks any more.
pub(crate) struct PreflightSight {
    pub(crate) deployments: watch::Receiver<Option<Objects<Deployment>>>,
    pub(crate) pods: watch::Receiver<Option<Objects<Pod>>>,
    /// Everything that is told in its namespace.
    pub(crate) events: watch::Receiver<Option<Objects<Event>>>,
}

impl PreflightSight {
    /// Starts watching what has these labels.
    pub(crate) fn open(client: &Client, namespace: &str, labels: &str) -> Self {
        let follow = Following::new(TaskTracker::new());
        let labelled = watcher::Config::default().labels(labels);
        let pods = Api::namespaced(client.clone(), namespace);
        let deployments = Api::namespaced(client.clone(), namespace);
        let events = Api::namespaced(client.clone(), namespace);
        Self {
            deployments: follow.objects(deployments, labelled.clone()),
            pods: follow.objects(pods, labelled),
            events: follow.objects(events, watcher::Config::default()),
        }
    }

    /// Waits for something new.
    pub(crate) async fn changed(&mut self) {
        // Those who watch never end before those who look.
        let _ = tokio::select! {
            changed = self.deployments.changed() => changed,
            changed = self.pods.changed() => changed,
            changed = self.events.changed() => changed,
        };
    }
}
