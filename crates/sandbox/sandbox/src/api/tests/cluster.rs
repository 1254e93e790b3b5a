//! A cluster for tests: requests as `kubectl` would make them, at a time that stands still.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::{Api, Body, Call, PatchKind, Query, Refusal, Reply};
use crate::catalog::Target;
use crate::rbac::User;
use crate::store::Store;

pub(super) struct Cluster {
    pub(super) api: Api,
}

impl Cluster {
    /// With the namespaces `default` and `other`, and their accounts.
    pub(super) fn new() -> Self {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let cluster = Self { api: Api::new(Store::default(), Box::new(move || now)) };
        for name in ["default", "other"] {
            let named = |name: &str| json!({ "metadata": { "name": name } });
            cluster.made("/api/v1/namespaces", &named(name));
            cluster.made(&format!("/api/v1/namespaces/{name}/serviceaccounts"), &named("default"));
        }
        cluster
    }

    pub(super) fn ask(&self, method: &str, url: &str, body: Body) -> Result<Reply, Refusal> {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let target = Target::parse(&self.api.catalog(), method, path, query).unwrap();
        let Target::Objects { resource, namespace, name, subresource, verb } = target else {
            panic!("{url} is not about objects");
        };
        self.api.answer(&Call {
            user: User { name: "jane".to_owned(), groups: Vec::new() },
            user_agent: "test/1".to_owned(),
            resource,
            namespace,
            name,
            subresource,
            verb,
            query: Query::parse(query),
            body,
        })
    }

    /// The status and the body that the client would get.
    pub(super) fn answer(&self, method: &str, url: &str, body: Body) -> (u16, Value) {
        match self.ask(method, url, body) {
            Ok(Reply::Object { object, created, .. }) => {
                (if created { 201 } else { 200 }, (*object).clone())
            }
            Ok(Reply::Document(document)) => (200, document),
            Ok(Reply::Accepted(document)) => (202, document),
            Ok(Reply::List(list)) => {
                let items: Vec<Value> = list.items.iter().map(|it| (**it).clone()).collect();
                (200, json!({ "items": items, "continue": list.continue_token }))
            }
            Ok(Reply::Watch(mut watcher)) => {
                let mut events = Vec::new();
                while let Some(event) = watcher.try_next() {
                    events.push(json!([event.kind.as_str(), event.object["metadata"]["name"]]));
                }
                (200, json!(events))
            }
            Err(refusal) => (refusal.code, refusal.body()),
        }
    }

    pub(super) fn get(&self, url: &str) -> (u16, Value) {
        self.answer("GET", url, Body::None)
    }

    pub(super) fn post(&self, url: &str, object: &Value) -> (u16, Value) {
        self.answer("POST", url, Body::Object(object.clone()))
    }

    pub(super) fn put(&self, url: &str, object: &Value) -> (u16, Value) {
        self.answer("PUT", url, Body::Object(object.clone()))
    }

    pub(super) fn patch(&self, url: &str, kind: PatchKind, patch: &Value) -> (u16, Value) {
        self.answer("PATCH", url, Body::Patch(kind, patch.clone()))
    }

    pub(super) fn delete(&self, url: &str, options: Option<Value>) -> (u16, Value) {
        self.answer("DELETE", url, options.map_or(Body::None, Body::Object))
    }

    /// Makes an object, which has to work.
    pub(super) fn made(&self, url: &str, object: &Value) -> Value {
        let (code, object) = self.post(url, object);
        assert_eq!(code, 201, "{object}");
        object
    }
}

/// The code, the reason and the message of an answer, in one line.
pub(super) fn line((code, body): &(u16, Value)) -> String {
    let word = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    format!("{code} {}: {}", word("reason"), word("message"))
}
