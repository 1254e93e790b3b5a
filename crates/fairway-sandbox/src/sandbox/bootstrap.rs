//! What every cluster has from its beginning.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::api::{Api, Body, Call, Query, Refusal};
use crate::catalog::Verb;
use crate::rbac::User;

const OBJECTS: &str = include_str!("bootstrap.yaml");

const RBAC: &str = "rbac.authorization.k8s.io";

/// Makes it, for a cluster at this address.
pub(super) fn bootstrap(api: &Api, address: SocketAddr) -> Result<(), Refusal> {
    let objects = fairway_api::read::documents("bootstrap.yaml", OBJECTS.as_bytes());
    let objects: Vec<Value> = objects.map_err(Refusal::internal)?;
    objects.into_iter().map(marked).chain([way_in(address)]).try_for_each(|it| create(api, it))
}

/// Roles and bindings say that they are no work of people.
fn marked(mut object: Value) -> Value {
    let is_access = object["apiVersion"].as_str().is_some_and(|version| version.starts_with(RBAC));
    if is_access {
        object["metadata"]["labels"] = json!({ "kubernetes.io/bootstrapping": "rbac-defaults" });
        object["metadata"]["annotations"] =
            json!({ "rbac.authorization.kubernetes.io/autoupdate": "true" });
    }
    object
}

/// The Service by which pods reach the API. Its address is that of the API server: there is nothing
/// between them here. Endpoints cannot say so, because they may not be on loopback.
fn way_in(address: SocketAddr) -> Value {
    let metadata = json!({
        "name": "kubernetes",
        "namespace": "default",
        "labels": { "component": "apiserver", "provider": "kubernetes" },
    });
    let (ip, port) = (address.ip().to_string(), address.port());
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "clusterIP": ip,
            "clusterIPs": [ip],
            "type": "ClusterIP",
            "ports": [{ "name": "https", "port": port, "protocol": "TCP", "targetPort": port }],
        },
    })
}

fn create(api: &Api, object: Value) -> Result<(), Refusal> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let catalog = api.catalog();
    let resource = catalog.kind(group, text("kind"));
    let resource = resource.ok_or_else(|| Refusal::internal(format!("{object} is not served")))?;
    let user =
        User { name: "system:apiserver".to_owned(), groups: vec!["system:masters".to_owned()] };
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let call = Call {
        user,
        user_agent: "kube-apiserver".to_owned(),
        resource: resource.clone(),
        namespace: namespace.map(str::to_owned),
        name: None,
        subresource: None,
        verb: Verb::Create,
        query: Query::default(),
        body: Body::Object(object),
    };
    api.answer(&call).map(|_| ())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Namespace, Service};
    use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};

    use super::*;

    #[test]
    fn a_cluster_begins_with_it() {
        let api = Api::default();
        bootstrap(&api, SocketAddr::from(([127, 0, 0, 1], 6443))).unwrap();
        let client = api.client("test");
        let names: Vec<_> = client.list::<Namespace>("").unwrap();
        let names: Vec<_> = names.into_iter().filter_map(|it| it.metadata.name).collect();
        assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
        assert!(client.get::<Service>("default", "kubernetes").unwrap().is_some());
        // Every binding leads to a role.
        for binding in client.list::<ClusterRoleBinding>("").unwrap() {
            assert!(client.get::<ClusterRole>("", &binding.role_ref.name).unwrap().is_some());
        }
    }
}
