//! Watches of a preflight run.

use fairway_watch::WatchMonitors;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::Objects;
use super::reflector::Reflectors;

/// Latest state of a run's objects. Dropping the value ends the watches.
pub(crate) struct PreflightWatches {
    pub(crate) deployments: watch::Receiver<Option<Objects<Deployment>>>,
    pub(crate) pods: watch::Receiver<Option<Objects<Pod>>>,
    /// All events of the namespace.
    pub(crate) events: watch::Receiver<Option<Objects<Event>>>,
}

impl PreflightWatches {
    /// Watches the objects with these labels.
    pub(crate) fn open(client: &Client, namespace: &str, labels: &str) -> Self {
        // Not published: the run has a timeout of its own.
        let monitors = WatchMonitors::default();
        let follow = Reflectors::new(client.clone(), TaskTracker::new(), monitors);
        let labelled = watcher::Config::default().labels(labels);
        let deployments = |client| Api::namespaced(client, namespace);
        let pods = |client| Api::namespaced(client, namespace);
        let events = |client| Api::namespaced(client, namespace);
        Self {
            deployments: follow.objects("deployments", deployments, labelled.clone()),
            pods: follow.objects("pods", pods, labelled),
            events: follow.objects("events", events, watcher::Config::default()),
        }
    }

    /// Waits for a change.
    pub(crate) async fn changed(&mut self) {
        // The watches hold their senders until all receivers are gone, so this never fails.
        let _ = tokio::select! {
            changed = self.deployments.changed() => changed,
            changed = self.pods.changed() => changed,
            changed = self.events.changed() => changed,
        };
    }
}
