use serde_json::json;

use super::*;

/// An object with what fairway owns of it.
fn live(mut object: Value, owned: &Value) -> Value {
    object["metadata"]["managedFields"] = json!([
        {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:foreign": {}}}},
        {"manager": "fairway", "operation": "Apply", "fieldsV1": owned},
    ]);
    object
}

/// What is found to be not right, in words.
fn found(wanted: &Value, live: &Value) -> String {
    difference(wanted, live).map(|found| found.to_string()).unwrap_or_default()
}

#[test]
fn every_leaf_has_to_be_there_and_ours() {
    let owned = json!({"f:spec": {"f:replicas": {}, "f:paused": {}}});
    let wanted = json!({"spec": {"replicas": 2, "paused": false}});
    for (spec, expected) in [
        (json!({"replicas": 2, "paused": false}), ""),
        (json!({"replicas": 2, "foreign": 7}), ""),
        (json!({"replicas": 2.0}), ""),
        (json!({"replicas": 3}), ".spec.replicas differs from the manifest"),
        (json!({"replicas": 2, "paused": true}), ".spec.paused differs from the manifest"),
        (json!({"paused": false}), ".spec.replicas is missing"),
    ] {
        assert_eq!(found(&wanted, &live(json!({"spec": spec}), &owned)), expected, "{spec}");
    }
    let taken =
        live(json!({"spec": {"replicas": 2}}), &json!({"f:spec": {".": {}, "f:paused": {}}}));
    assert_eq!(found(&wanted, &taken), ".spec.replicas is owned by another field manager");
    assert_eq!(
        found(&wanted, &json!({"spec": {"replicas": 2}})),
        ".spec is owned by another field manager",
        "an object that nobody applied"
    );
}

#[test]
fn what_a_manifest_no_longer_has_is_left_over() {
    let owned = json!({"f:spec": {"f:replicas": {}, "f:old": {}, "f:dropped": {}}});
    let object = live(json!({"spec": {"replicas": 2, "old": {"a": 1}}}), &owned);
    assert_eq!(
        found(&json!({"spec": {"replicas": 2}}), &object),
        ".spec.old is no longer in the manifest"
    );
    assert_eq!(found(&json!({"spec": {"replicas": 2, "old": {"a": 1}}}), &object), "");
}

#[test]
fn items_are_found_by_their_keys_whatever_their_order() {
    let owned = json!({"f:spec": {"f:containers": {
        r#"k:{"name":"a"}"#: {".": {}, "f:name": {}, "f:image": {}},
        r#"k:{"name":"b"}"#: {".": {}, "f:name": {}, "f:image": {}},
    }}});
    let wanted = |containers: Value| json!({"spec": {"containers": containers}});
    let object = live(
        wanted(json!([
            {"name": "sidecar", "image": "s"},
            {"name": "b", "image": "2", "pull": "Always"},
            {"name": "a", "image": "1"},
        ])),
        &owned,
    );
    let a = json!({"name": "a", "image": "1"});
    let b = json!({"name": "b", "image": "2"});
    for (containers, expected) in [
        (json!([a, b]), ""),
        (json!([b, a]), ""),
        (json!([a]), r#".spec.containers[{"name":"b"}] is no longer in the manifest"#),
        (
            json!([a, {"name": "b", "image": "3"}]),
            ".spec.containers[1].image differs from the manifest",
        ),
        (json!([a, b, {"name": "c"}]), ".spec.containers[2] is owned by another field manager"),
    ] {
        assert_eq!(found(&wanted(containers.clone()), &object), expected, "{containers}");
    }
}

#[test]
fn a_list_that_is_one_value_is_compared_as_a_whole() {
    let owned = json!({"f:rules": {}});
    let wanted = json!({"rules": [{"verbs": ["get"], "resources": ["pods"]}]});
    for (rules, expected) in [
        (json!([{"verbs": ["get"], "resources": ["pods"]}]), ""),
        (json!([{"verbs": ["get"], "resources": ["pods"], "apiGroups": [""]}]), ""),
        (json!([{"verbs": ["*"], "resources": ["pods"]}]), ".rules differs from the manifest"),
        (
            json!([{"verbs": ["get"], "resources": ["pods"]}, {}]),
            ".rules differs from the manifest",
        ),
    ] {
        assert_eq!(found(&wanted, &live(json!({"rules": rules}), &owned)), expected, "{rules}");
    }
}

#[test]
fn a_set_is_compared_value_by_value() {
    let owned = json!({"f:metadata": {"f:finalizers": {".": {}, r#"v:"a""#: {}}}});
    let object = live(json!({"metadata": {"finalizers": ["foreign", "a"]}}), &owned);
    assert_eq!(found(&json!({"metadata": {"finalizers": ["a"]}}), &object), "");
    assert_eq!(
        found(&json!({"metadata": {"finalizers": []}}), &object),
        r#".metadata.finalizers["a"] is no longer in the manifest"#
    );
}

#[test]
fn of_the_metadata_only_what_manifests_say_counts() {
    let owned = json!({"f:metadata": {"f:labels": {"f:a": {}}, "f:ownerReferences": {r#"k:{"uid":"1"}"#: {}}}});
    let owners = json!([{"uid": "1", "kind": "ClusterVersion"}]);
    let object = live(
        json!({
            "apiVersion": "v1", "kind": "Thing", "status": {"phase": "Lost"},
            "metadata": {
                "name": "a", "uid": "9", "generation": 3, "labels": {"a": "1", "foreign": "2"},
                "annotations": {"foreign": "3"}, "ownerReferences": owners,
            },
        }),
        &owned,
    );
    let mut wanted = json!({
        "apiVersion": "v1", "kind": "Thing",
        "metadata": {"name": "a", "labels": {"a": "1"}, "ownerReferences": owners},
    });
    assert_eq!(found(&wanted, &object), "");
    wanted["metadata"]["labels"] = json!({});
    assert_eq!(found(&wanted, &object), ".metadata.labels.a is no longer in the manifest");
}

#[test]
fn quantities_and_empty_values_are_no_differences() {
    let owned = json!({"f:spec": {"f:limits": {"f:cpu": {}}, "f:emptyDir": {}, "f:note": {}}});
    let wanted =
        json!({"spec": {"limits": {"cpu": "0.5"}, "emptyDir": {}, "note": "", "args": []}});
    let object =
        live(json!({"spec": {"limits": {"cpu": "500m"}, "emptyDir": {"medium": ""}}}), &owned);
    assert_eq!(found(&wanted, &object), "");
}
