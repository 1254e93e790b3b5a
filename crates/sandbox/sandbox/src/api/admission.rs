//! Rules of the cluster that go beyond a single object.

use serde_json::Value;

use super::request::Request;
use super::{Refusal, meta, pods, services};
use crate::catalog::Resource;
use crate::store::{self, Key};

/// The namespaces without which there is no cluster.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

/// What the cluster demands of new objects, and adds to them.
pub(super) fn create(request: &Request<'_>, object: &mut Value) -> Result<(), Refusal> {
    check_namespace(request, meta::given_name(object))?;
    match core_kind(request.resource()) {
        "Pod" => pods::admit(request, object),
        "Service" => services::allocate(object, None, request.api.store()),
        _ => Ok(()),
    }
}

/// What the cluster demands of changed objects, and adds to them.
pub(super) fn update(
    request: &Request<'_>,
    object: &mut Value,
    old: &Value,
) -> Result<(), Refusal> {
    match core_kind(request.resource()) {
        "Service" if request.call.subresource.is_none() => {
            services::allocate(object, Some(old), request.api.store())
        }
        _ => Ok(()),
    }
}

/// What the cluster does not let go.
pub(super) fn delete(resource: &Resource, name: &str) -> Result<(), Refusal> {
    if core_kind(resource) == "Namespace" && IMMORTAL.contains(&name) {
        return Err(Refusal::forbidden(resource, name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// The kind, if it belongs to the core group.
pub(super) fn core_kind(resource: &Resource) -> &str {
    if resource.group.is_empty() { &resource.kind } else { "" }
}

/// Objects begin in namespaces that are there, and that will stay.
fn check_namespace(request: &Request<'_>, name: &str) -> Result<(), Refusal> {
    let resource = request.resource();
    let Some(namespace) = request.call.namespace.as_deref().filter(|_| resource.namespaced) else {
        return Ok(());
    };
    let key = Key::new(&store::Resource::new("", "namespaces"), None, namespace)?;
    let Some(found) = request.api.store().get(&key) else {
        let catalog = request.api.catalog();
        let namespaces = catalog.resource("", "v1", "namespaces");
        return Err(match namespaces {
            Some(namespaces) => Refusal::not_found(namespaces, namespace),
            None => Refusal::unknown_resource(),
        });
    };
    if meta::is_terminating(&found) {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = format!("namespace {namespace} is being terminated");
        return Err(Refusal::forbidden(resource, name, why).because(
            "NamespaceTerminating",
            &cause,
            "metadata.namespace",
        ));
    }
    Ok(())
}
