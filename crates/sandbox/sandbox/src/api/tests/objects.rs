//! One object from its beginning to its end.

use insta::assert_snapshot;
use serde_json::json;

use super::cluster::{Cluster, line};
use crate::api::PatchKind;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> String {
    format!("{MAPS}/{name}")
}

#[test]
fn an_object_begins_changes_and_ends() {
    let cluster = Cluster::new();
    let made = cluster.made(MAPS, &json!({ "metadata": { "name": "a" }, "data": { "x": "1" } }));
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-01-02T03:04:05Z");
    assert_eq!(made["metadata"]["namespace"], "default");
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "test");
    assert_eq!(cluster.get(&map("a")), (200, made.clone()));

    let (code, patched) =
        cluster.patch(&map("a"), PatchKind::Merge, &json!({ "data": { "y": "2" } }));
    assert_eq!((code, &patched["data"]), (200, &json!({ "x": "1", "y": "2" })));
    let mut replaced = patched.clone();
    replaced["data"] = json!({ "z": "3" });
    let (code, updated) = cluster.put(&map("a"), &replaced);
    assert_eq!((code, &updated["data"]), (200, &json!({ "z": "3" })));
    assert_eq!(updated["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(cluster.put(&map("a"), &replaced).0, 409);

    let (code, gone) = cluster.delete(&map("a"), None);
    assert_eq!((code, &gone["status"]), (200, &json!("Success")));
    assert_eq!(cluster.get(&map("a")).0, 404);
    assert_eq!(cluster.get(&format!("{MAPS}?watch=1")), (200, json!([])));
}

#[test]
fn refusals_of_a_new_object() {
    let cluster = Cluster::new();
    cluster.made(MAPS, &json!({ "metadata": { "name": "a" } }));
    let refused = |object| line(&cluster.post(MAPS, &object));
    assert_snapshot!(
        [
            refused(json!({ "metadata": { "name": "a" } })),
            refused(json!({ "metadata": {} })),
            refused(json!({ "metadata": { "name": "b", "resourceVersion": "1" } })),
            refused(json!({ "metadata": { "name": "b", "namespace": "other" } })),
            refused(json!({ "kind": "Secret", "apiVersion": "v1", "metadata": { "name": "b" } })),
        ].join("\n"),
        @r#"
    409 AlreadyExists: configmaps "a" already exists
    422 Invalid: ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required
    500 : resourceVersion should not be set on objects to be created
    400 BadRequest: the namespace of the provided object does not match the namespace sent on the request
    400 BadRequest: Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion
    "#
    );
}
