//! Objects that many cases need.

use serde_json::{Value, json};

/// A config map.
pub(crate) fn config_map(name: &str, data: Value) -> Value {
    let mut object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    object["data"] = data;
    object
}

/// A deployment `d` of these containers that runs none of them.
pub(crate) fn idle_deployment(containers: Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": "d" } },
            "template": { "metadata": { "labels": { "app": "d" } }, "spec": {} },
        },
    });
    deployment["spec"]["template"]["spec"]["containers"] = containers;
    deployment
}

/// A config map that stays when it is deleted, until it is released.
pub(crate) fn held_config_map(name: &str) -> Value {
    let mut object = config_map(name, json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/wait"]);
    object
}

/// Whether an object is being deleted.
pub(crate) fn is_going(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}
