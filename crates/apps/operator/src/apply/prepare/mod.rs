//! The desired object: its manifest, with injected cluster configuration and required fields.

mod inject;
mod required;

pub(crate) use inject::depends_on_injected_config;
pub(super) use required::may_have_foreign_values;

use fairway_api::CLUSTER_VERSION_NAME;
use fairway_apply::MANAGED;
use fairway_apply::canonical::holds_quantities;
use fairway_release::{Manifest, ObjectId};
use serde_json::{Map, Value, json};

use crate::cluster::InjectedConfig;

/// State of the cluster that the objects of a release depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyContext {
    /// Owner of the objects.
    pub owner: Owner,
    /// Whether the cluster gets its first release.
    pub installing: bool,
    /// Whether an update is in progress: `delete` manifests take effect only then.
    pub updating: bool,
    /// Configuration that is injected into manifests.
    pub surroundings: InjectedConfig,
}

/// The ClusterVersion, as the owner of applied objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its UID.
    pub uid: String,
}

/// Errors of a manifest that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrepareError {
    /// The kind is namespaced, and the manifest has no namespace.
    #[error("the manifest has no namespace")]
    NoNamespace,
    /// An annotation has an invalid value.
    #[error("annotation {annotation} has the invalid value {value:?}; use \"true\"")]
    Annotation {
        /// The annotation.
        annotation: &'static str,
        /// Its value.
        value: String,
    },
    /// An annotation names a container that does not exist.
    #[error("annotation {annotation} names container {container:?}, which does not exist")]
    NoContainer {
        /// The annotation.
        annotation: &'static str,
        /// The name of the container.
        container: String,
    },
    /// The injected address is invalid.
    #[error("invalid API server address {0:?} in Infrastructure cluster: not a URL")]
    ApiServer(String),
}

/// What the operator does with the object of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    /// Keeps it equal to the manifest.
    Reconcile,
    /// Creates it if it does not exist, and leaves changes of other clients alone.
    CreateOnly,
    /// Deletes it.
    Delete,
}

const CREATE_ONLY: &str = "release.openshift.io/create-only";
const DELETE: &str = "release.openshift.io/delete";

impl Intent {
    pub(super) fn from_manifest(manifest: &Manifest) -> Result<Self, PrepareError> {
        match manifest.annotation(DELETE) {
            Some("true") => return Ok(Self::Delete),
            Some(value) => {
                return Err(PrepareError::Annotation {
                    annotation: DELETE,
                    value: value.to_owned(),
                });
            }
            None => {}
        }
        let create_only = manifest.annotation(CREATE_ONLY);
        let create_only = create_only.is_some_and(|value| value.eq_ignore_ascii_case("true"));
        Ok(if create_only { Self::CreateOnly } else { Self::Reconcile })
    }
}

/// Whether an object is only created, and may be changed by other clients.
pub(crate) fn is_create_only(manifest: &Manifest) -> bool {
    Intent::from_manifest(manifest) == Ok(Intent::CreateOnly)
}

/// Makes the desired object. The live object matters only for parts that are not managed.
pub(super) fn prepare(
    manifest: &Manifest,
    intent: Intent,
    live: Option<&Value>,
    context: &ApplyContext,
) -> Result<Value, PrepareError> {
    let mut object =
        manifest.completed_object_with(|zero| required::value(&manifest.id, zero, live));
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            add_metadata(metadata, intent, &context.owner);
        }
    }
    inject::inject(manifest, &mut object, &context.surroundings)?;
    normalise(&manifest.id, &mut object);
    remove_injected_ca(&mut object, live);
    Ok(object)
}

/// Sets the managed label and the owner reference.
fn add_metadata(metadata: &mut Map<String, Value>, intent: Intent, owner: &Owner) {
    let (label, value) = MANAGED;
    let labels = metadata.entry("labels").or_insert_with(|| json!({}));
    if let Some(labels) = labels.as_object_mut() {
        labels.insert(label.to_owned(), json!(value));
    }
    let foreign: Vec<Value> = metadata
        .remove("ownerReferences")
        .and_then(|owners| owners.as_array().cloned())
        .unwrap_or_default()
        .into_iter()
        .filter(|owner| owner["kind"] != "ClusterVersion")
        .collect();
    let owners = if foreign.is_empty() { vec![reference(intent, owner)] } else { foreign };
    metadata.insert("ownerReferences".to_owned(), json!(owners));
}

fn reference(intent: Intent, owner: &Owner) -> Value {
    let mut reference = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "name": CLUSTER_VERSION_NAME,
        "uid": owner.uid,
    });
    if intent != Intent::CreateOnly {
        reference["controller"] = json!(true);
    }
    reference
}

/// Brings equal values into one form. Old API servers reject other forms in server-side apply.
fn normalise(id: &ObjectId, object: &mut Value) {
    without_creation(object);
    if id.kind == "Service" {
        object.get_mut("spec").into_iter().for_each(default_protocols);
    }
    if let Some(pod) = spec_mut(id, object) {
        containers_mut(pod).for_each(default_protocols);
    }
    if is_built_in(id) {
        quantities_as_text(object, false);
    }
    let is_aggregated = !object["aggregationRule"].is_null();
    if id.kind == "ClusterRole"
        && is_aggregated
        && let Some(fields) = object.as_object_mut()
    {
        // The API server aggregates them from other roles.
        fields.remove("rules");
    }
}

/// Removes the creation timestamps that generators leave in manifests and Pod templates.
fn without_creation(value: &mut Value) {
    if let Value::Object(fields) = value {
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("creationTimestamp");
        }
        for (_, field) in fields.iter_mut().filter(|(name, _)| is_on_the_way_to_pods(name)) {
            without_creation(field);
        }
    }
}

fn is_on_the_way_to_pods(name: &str) -> bool {
    matches!(name, "spec" | "template" | "jobTemplate")
}

/// Sets the default protocol, which is part of the merge key of ports.
fn default_protocols(owner: &mut Value) {
    let ports = owner.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| json!("TCP"));
    }
}

/// Whether the fields of a kind have their Kubernetes meaning.
fn is_built_in(id: &ObjectId) -> bool {
    let is_built_in = !id.group.contains('.') || id.group.ends_with(".k8s.io");
    // CRD schemas and ConfigMaps may have any field `limits`.
    is_built_in && !matches!(id.kind.as_str(), "CustomResourceDefinition" | "ConfigMap")
}

fn quantities_as_text(value: &mut Value, quantity: bool) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                quantities_as_text(value, quantity || holds_quantities(name));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| quantities_as_text(item, quantity)),
        Value::Number(number) if quantity => *value = json!(number.to_string()),
        _ => {}
    }
}

/// The Pod spec of an object.
fn spec_mut<'a>(id: &ObjectId, object: &'a mut Value) -> Option<&'a mut Value> {
    let path = match (id.group.as_str(), id.kind.as_str()) {
        ("", "Pod") => "/spec",
        ("apps", "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet") | ("batch", "Job") => {
            "/spec/template/spec"
        }
        ("batch", "CronJob") => "/spec/jobTemplate/spec/template/spec",
        _ => return None,
    };
    object.pointer_mut(path)
}

/// All containers, including init containers.
fn containers_mut(pod: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = pod.as_object_mut().into_iter().flatten();
    lists
        .filter(|(name, _)| matches!(name.as_str(), "containers" | "initContainers"))
        .flat_map(|(_, list)| list.as_array_mut().into_iter().flatten())
}

/// Sets an environment variable of a container, and replaces one of the same name.
fn set_variable(container: &mut Value, name: &str, value: &str) {
    let Some(container) = container.as_object_mut() else { return };
    let variables = container.entry("env").or_insert_with(|| json!([]));
    if let Some(variables) = variables.as_array_mut() {
        variables.retain(|variable| variable["name"] != name);
        variables.push(json!({"name": name, "value": value}));
    }
}

/// The service CA operator sets the CA bundle of objects with this annotation.
const INJECTED_CA: &str = "service.beta.openshift.io/inject-cabundle";

/// Removes CA bundles that another operator injects, if the desired or the live object requests it.
fn remove_injected_ca(wanted: &mut Value, live: Option<&Value>) {
    let asks = |object: &Value| object["metadata"]["annotations"][INJECTED_CA] == "true";
    if !asks(wanted) && !live.is_some_and(asks) {
        return;
    }
    let webhooks = wanted.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        remove_ca(webhook.pointer_mut("/clientConfig"));
    }
    remove_ca(wanted.pointer_mut("/spec/conversion/webhook/clientConfig"));
    remove_ca(wanted.pointer_mut("/spec"));
}

fn remove_ca(client: Option<&mut Value>) {
    if let Some(client) = client.and_then(Value::as_object_mut) {
        client.remove("caBundle");
    }
}

#[cfg(test)]
mod tests;
