//! Default objects of a cluster.

use serde_json::{Value, json};

use crate::api::{Api, ApiRequest, ApiResult, QueryParams, RequestBody, StatusError};
use crate::catalog::Verb;
use crate::pki::SERVICE_ADDRESS;
use crate::rbac::User;

const OBJECTS: &str = include_str!("bootstrap.yaml");

const RBAC: &str = "rbac.authorization.k8s.io";

/// Creates the default objects. The API server has this port.
pub(crate) fn bootstrap(api: &Api, port: u16) -> ApiResult<()> {
    let objects = fairway_api::read::documents("bootstrap.yaml", OBJECTS.as_bytes());
    let objects: Vec<Value> = objects.map_err(StatusError::internal)?;
    objects
        .into_iter()
        .map(with_default_labels)
        .chain([kubernetes_service(port)])
        .try_for_each(|it| create(api, it))
}

/// Marks roles and bindings as defaults, like the API server does.
fn with_default_labels(mut object: Value) -> Value {
    let is_rbac = object["apiVersion"].as_str().is_some_and(|version| version.starts_with(RBAC));
    if is_rbac {
        object["metadata"]["labels"] = json!({ "kubernetes.io/bootstrapping": "rbac-defaults" });
        object["metadata"]["annotations"] =
            json!({ "rbac.authorization.kubernetes.io/autoupdate": "true" });
    }
    object
}

/// The Service `kubernetes`. It has the port of the API server, because there is no service proxy,
/// and no Endpoints, because those cannot be on loopback.
fn kubernetes_service(port: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": { "component": "apiserver", "provider": "kubernetes" },
        },
        "spec": {
            "clusterIP": SERVICE_ADDRESS,
            "clusterIPs": [SERVICE_ADDRESS],
            "type": "ClusterIP",
            "ports": [{ "name": "https", "port": port, "protocol": "TCP", "targetPort": port }],
        },
    })
}

fn create(api: &Api, object: Value) -> ApiResult<()> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let catalog = api.catalog();
    let resource = catalog.kind(group, text("kind"));
    let resource =
        resource.ok_or_else(|| StatusError::internal(format!("{object} is not served")))?;
    let user =
        User { name: "system:apiserver".to_owned(), groups: vec!["system:masters".to_owned()] };
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let request = ApiRequest {
        user,
        user_agent: "kube-apiserver".to_owned(),
        resource: resource.clone(),
        namespace: namespace.map(str::to_owned),
        name: None,
        subresource: None,
        verb: Verb::Create,
        query: QueryParams::default(),
        body: RequestBody::Object(object),
    };
    api.handle(&request).map(|_| ())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Namespace, Service};
    use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};

    use super::*;

    #[test]
    fn bootstrap_creates_default_objects() {
        let api = Api::default();
        bootstrap(&api, 6443).unwrap();
        let client = api.client("test");
        let names: Vec<_> = client.list::<Namespace>("").unwrap();
        let names: Vec<_> = names.into_iter().filter_map(|it| it.metadata.name).collect();
        assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
        assert!(client.get::<Service>("default", "kubernetes").unwrap().is_some());
        // Every binding refers to a role.
        for binding in client.list::<ClusterRoleBinding>("").unwrap() {
            assert!(client.get::<ClusterRole>("", &binding.role_ref.name).unwrap().is_some());
        }
    }
}
