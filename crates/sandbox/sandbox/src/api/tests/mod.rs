//! Requests and their responses, in tables.

mod admission;
mod custom;
mod deletion;
mod reading;
mod writes;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::{Api, ApiRequest, ApiResponse, ApiResult, PatchType, QueryParams, RequestBody};
use crate::catalog::Target;
use crate::rbac::User;
use crate::store::Store;

struct Cluster {
    api: Api,
}

impl Cluster {
    /// With the namespaces `default` and `other` and their default ServiceAccounts.
    fn new() -> Self {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let cluster = Self { api: Api::new(Store::default(), Box::new(move || now)) };
        for name in ["default", "other"] {
            let named = |name: &str| json!({ "metadata": { "name": name } });
            cluster.made("/api/v1/namespaces", &named(name));
            cluster.made(&format!("/api/v1/namespaces/{name}/serviceaccounts"), &named("default"));
        }
        cluster
    }

    fn handle(&self, method: &str, url: &str, body: RequestBody) -> ApiResult {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let target = Target::parse(&self.api.catalog(), method, path, query).unwrap();
        let Target::Objects { resource, namespace, name, subresource, verb } = target else {
            panic!("{url} is not about objects");
        };
        self.api.handle(&ApiRequest {
            user: User { name: "jane".to_owned(), groups: Vec::new() },
            user_agent: "test/1".to_owned(),
            resource,
            namespace,
            name,
            subresource,
            verb,
            query: QueryParams::parse(query),
            body,
        })
    }

    /// Status code and body of the response.
    fn send(&self, method: &str, url: &str, body: RequestBody) -> (u16, Value) {
        match self.handle(method, url, body) {
            Ok(ApiResponse::Object { object, created, .. }) => {
                (if created { 201 } else { 200 }, (*object).clone())
            }
            Ok(ApiResponse::Document(document)) => (200, document),
            Ok(ApiResponse::Accepted(document)) => (202, document),
            Ok(ApiResponse::List(list)) => {
                let items: Vec<Value> = list.items.iter().map(|it| (**it).clone()).collect();
                (200, json!({ "items": items, "continue": list.continue_token }))
            }
            Ok(ApiResponse::Watch(mut watcher)) => {
                let mut events = Vec::new();
                while let Some(event) = watcher.try_next() {
                    events.push(json!([event.kind.as_str(), event.object["metadata"]["name"]]));
                }
                (200, json!(events))
            }
            Err(error) => (error.code, error.to_status()),
        }
    }

    fn get(&self, url: &str) -> (u16, Value) {
        self.send("GET", url, RequestBody::None)
    }

    fn post(&self, url: &str, object: &Value) -> (u16, Value) {
        self.send("POST", url, RequestBody::Object(object.clone()))
    }

    fn put(&self, url: &str, object: &Value) -> (u16, Value) {
        self.send("PUT", url, RequestBody::Object(object.clone()))
    }

    fn patch(&self, url: &str, kind: PatchType, patch: &Value) -> (u16, Value) {
        self.send("PATCH", url, RequestBody::Patch(kind, patch.clone()))
    }

    fn delete(&self, url: &str, options: Option<Value>) -> (u16, Value) {
        self.send("DELETE", url, options.map_or(RequestBody::None, RequestBody::Object))
    }

    /// Creates an object, which must succeed.
    fn made(&self, url: &str, object: &Value) -> Value {
        let (code, object) = self.post(url, object);
        assert_eq!(code, 201, "{object}");
        object
    }
}

/// Code, reason and message of a response on one line.
fn line((code, body): &(u16, Value)) -> String {
    let word = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    format!("{code} {}: {}", word("reason"), word("message"))
}
