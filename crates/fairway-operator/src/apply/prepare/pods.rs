//! Where the Pods of an object are described.

use serde_json::{Value, json};

/// The description of the Pods that an object of that kind makes.
pub(super) fn spec_mut<'a>(kind: &str, object: &'a mut Value) -> Option<&'a mut Value> {
    let path = match kind {
        "Pod" => "/spec",
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "Job" => "/spec/template/spec",
        "CronJob" => "/spec/jobTemplate/spec/template/spec",
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
