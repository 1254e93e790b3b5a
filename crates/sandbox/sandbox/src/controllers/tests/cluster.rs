//! A cluster in one process with paused time.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::kubelet::Kubelet;
use crate::api::{Api, Propagation};
use crate::catalog::Resource;
use crate::controllers::run;
use crate::controllers::runtime::{self, Component, ObjectKey};
use crate::store::Store;

/// Timeout of expectations, in paused time.
const TIMEOUT: Duration = Duration::from_hours(1);

pub(super) struct Cluster {
    pub(super) api: Api,
    pub(super) user: Component,
    _cancel: DropGuard,
}

impl Cluster {
    /// A cluster with the namespace `n` and these nodes.
    pub(super) async fn new(nodes: &[&str]) -> Self {
        Self::with_history(nodes, crate::store::DEFAULT_HISTORY).await
    }

    /// A cluster whose watch cache keeps fewer events.
    pub(super) async fn with_history(nodes: &[&str], history: usize) -> Self {
        let (begin, epoch) = (Instant::now(), "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap());
        let passed = move || SignedDuration::try_from(begin.elapsed()).unwrap();
        let api = Api::new(Store::new(history), Box::new(move || epoch + passed()));
        let cancel = CancellationToken::new();
        let tracker = TaskTracker::new();
        run(&api, "the certificate", &cancel, &tracker);
        tracker.spawn(runtime::run(Kubelet::new(&api), cancel.clone()));
        let user = Component::new(&api, "jane");
        let cluster = Self { api, user, _cancel: cancel.drop_guard() };
        cluster.create("v1", "Namespace", &json!({ "metadata": { "name": "n" } }));
        for name in nodes {
            cluster.create(
                "v1",
                "Node",
                &json!({ "metadata": { "name": name, "labels": { "name": name } } }),
            );
        }
        cluster
            .wait_until("the account", |it| it.find("ServiceAccount", "default").is_some())
            .await;
        cluster
    }

    pub(super) fn resource(&self, kind: &str) -> Arc<Resource> {
        let catalog = self.api.catalog();
        let found = catalog.resources().find(|resource| resource.kind == kind);
        Arc::clone(found.unwrap_or_else(|| panic!("{kind} is not served")))
    }

    /// The key of an object, in namespace `n` if namespaced.
    pub(super) fn key(&self, kind: &str, name: &str) -> ObjectKey {
        ObjectKey::new(if self.resource(kind).namespaced { "n" } else { "" }, name)
    }

    pub(super) fn create(&self, api_version: &str, kind: &str, object: &Value) -> Value {
        let resource = self.resource(kind);
        let mut full = json!({ "apiVersion": api_version, "kind": kind });
        if resource.namespaced {
            full["metadata"] = json!({ "namespace": "n" });
        }
        json_patch::merge(&mut full, object);
        self.user.create(&resource, full).unwrap_or_else(|refusal| panic!("{object}: {refusal}"))
    }

    pub(super) fn find(&self, kind: &str, name: &str) -> Option<Arc<Value>> {
        self.user.get(&self.resource(kind), &self.key(kind, name)).unwrap()
    }

    pub(super) fn get(&self, kind: &str, name: &str) -> Value {
        let found = self.find(kind, name).unwrap_or_else(|| panic!("there is no {kind} {name}"));
        (*found).clone()
    }

    pub(super) fn list(&self, kind: &str) -> Vec<Arc<Value>> {
        self.user.list(&self.resource(kind), "").unwrap()
    }

    pub(super) fn patch(&self, kind: &str, name: &str, patch: Value) {
        self.user.merge(&self.resource(kind), &self.key(kind, name), patch).unwrap();
    }

    pub(super) fn delete(&self, kind: &str, name: &str, how: Propagation) {
        let object = self.get(kind, name);
        let uid = object["metadata"]["uid"].as_str().unwrap();
        self.user.delete(&self.resource(kind), &self.key(kind, name), uid, how).unwrap();
    }

    /// Waits until the predicate holds.
    pub(super) async fn wait_until(&self, what: &str, mut predicate: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + TIMEOUT;
        while Instant::now() < end {
            if predicate(self) {
                return;
            }
            sleep_until(Instant::now() + Duration::from_millis(100)).await;
        }
        panic!("{what} never came");
    }

    /// Advances time.
    pub(super) async fn pass(&self, seconds: u64) {
        sleep_until(Instant::now() + Duration::from_secs(seconds)).await;
    }

    /// Reasons of the events about an object, with their counts.
    pub(super) fn events(&self, name: &str) -> Vec<String> {
        let events =
            self.user.list(&self.api.catalog().kind("", "Event").unwrap().clone(), "").unwrap();
        let about = events.iter().filter(|event| event["involvedObject"]["name"] == name);
        let mut describe: Vec<_> = about
            .map(|event| format!("{} x{}", event["reason"].as_str().unwrap(), event["count"]))
            .collect();
        describe.sort_unstable();
        describe
    }
}
