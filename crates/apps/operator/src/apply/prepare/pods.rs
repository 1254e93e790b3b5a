//! Where the Pods of an object are described.

use fairway_release::ObjectId;
use serde_json::{Value, json};

/// The description of the Pods that an object makes.
pub(super) fn spec_mut<'a>(id: &ObjectId, object: &'a mut Value) -> Option<&'a mut Value> {
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

/// All containers, those that run first included.
pub(super) fn containers_mut(pod: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = pod.as_object_mut().into_iter().flatten();
    lists
        .filter(|(name, _)| matches!(name.as_str(), "containers" | "initContainers"))
        .flat_map(|(_, list)| list.as_array_mut().into_iter().flatten())
}

/// Sets a variable of a container; one of that name that was there goes.
pub(super) fn set_variable(container: &mut Value, name: &str, value: &str) {
    let Some(container) = container.as_object_mut() else { return };
    let variables = container.entry("env").or_insert_with(|| json!([]));
    if let Some(variables) = variables.as_array_mut() {
        variables.retain(|variable| variable["name"] != name);
        variables.push(json!({"name": name, "value": value}));
    }
}
