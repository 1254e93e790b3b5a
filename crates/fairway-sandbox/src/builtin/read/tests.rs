use serde_json::{Value, json};

use crate::builtin::kind;

fn read(group: &str, name: &str, object: Value) -> (Value, Vec<String>) {
    let read = kind(group, name).unwrap().read(object).unwrap();
    (read.object, read.unknown)
}

fn refusal(group: &str, name: &str, object: Value) -> String {
    kind(group, name).unwrap().read(object).unwrap_err().to_string()
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let (object, unknown) = read(
        "apps",
        "Deployment",
        json!({
            "foo": 1,
            "spec": { "replicas": 1.0, "template": { "spec": {
                "containers": [{ "name": "a", "bar": {} }], "hostNetwork": false, "baz": 2,
            } } },
        }),
    );
    assert_eq!(unknown, ["foo", "spec.template.spec.baz", "spec.template.spec.containers[0].bar"]);
    assert_eq!(
        object,
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "creationTimestamp": null },
            "spec": {
                "replicas": 1,
                "selector": null,
                "strategy": {},
                "template": {
                    "metadata": { "creationTimestamp": null },
                    "spec": { "containers": [{ "name": "a", "resources": {} }] },
                },
            },
            "status": {},
        })
    );
}
