use serde_json::{Value, json};

use super::{Example, check, fails, gives, nested};
use crate::patch::strategic;
use crate::schema::Schema;

fn schema(group: &str, kind: &str) -> Schema {
    Schema::builtin(group, kind).unwrap()
}

/// A pod with the fields that the tests patch.
fn pod() -> Value {
    json!({
        "metadata": { "labels": { "a": "1", "b": "2" }, "finalizers": ["x", "y"] },
        "spec": {
            "containers": [
                { "name": "a", "args": ["1"], "env": [{ "name": "E", "value": "1" }] },
                { "name": "b" },
                { "name": "c" },
            ],
            "tolerations": [{ "key": "t" }],
            "volumes": [{ "name": "v", "emptyDir": {} }],
        },
    })
}

/// Applies patches to one part of the pod.
fn check_at(pointer: &str, examples: Vec<Example>) {
    for Example { what, patch, result } in examples {
        let mut whole = patch.clone();
        for part in pointer.split('/').skip(1).collect::<Vec<_>>().into_iter().rev() {
            whole = json!({ part: whole });
        }
        let applied = strategic(&whole, &pod(), &schema("", "Pod"));
        let part = applied.map_err(|error| error.code()).map(|patched| {
            let mut expected = pod();
            let part = patched.pointer(pointer).cloned().unwrap();
            *expected.pointer_mut(pointer).unwrap() = part.clone();
            assert_eq!(patched, expected, "{what} changes something else");
            part
        });
        assert_eq!(part, result, "{what}: {patch}");
    }
}

#[test]
fn strategic_merge_of_objects() {
    check_at(
        "/metadata/labels",
        vec![
            gives("nothing", json!({}), json!({ "a": "1", "b": "2" })),
            gives("a field", json!({ "c": "3" }), json!({ "a": "1", "b": "2", "c": "3" })),
            gives("null deletes", json!({ "a": null, "z": null }), json!({ "b": "2" })),
            gives("replace", json!({ "$patch": "replace", "c": "3" }), json!({ "c": "3" })),
            gives("delete", json!({ "$patch": "delete", "c": "3" }), json!({})),
            fails("merge is no directive", json!({ "$patch": "merge" }), 500),
            fails("an unknown directive", json!({ "$patch": "invent" }), 500),
            fails("a directive that is not a string", json!({ "$patch": 1 }), 500),
            gives(
                "retained keys",
                json!({ "$retainKeys": ["a", "c"], "c": "3", "z": null }),
                json!({ "a": "1", "c": "3" }),
            ),
            fails("a key that is not retained", json!({ "$retainKeys": ["a"], "c": "3" }), 400),
            fails("retained keys that are no list", json!({ "$retainKeys": "a" }), 400),
            fails("retained keys that are no texts", json!({ "$retainKeys": [1] }), 400),
            fails("no list to delete from", json!({ "$deleteFromPrimitiveList/a": ["x"] }), 422),
        ],
    );
    let replaced = strategic(&json!({ "spec": "x" }), &pod(), &schema("", "Pod")).unwrap();
    assert_eq!(replaced["spec"], "x");
    let examples = vec![
        gives("nothing", json!(null), json!({ "a": 1 })),
        gives(
            "new objects keep neither nulls nor directives",
            json!({ "b": { "$patch": "replace", "$setElementOrder/l": [], "c": null, "d": [{ "$retainKeys": [], "e": 1 }] } }),
            json!({ "a": 1, "b": { "d": [{ "e": 1 }] } }),
        ),
        fails("no object", json!([]), 400),
        fails("too deep", json!({ "a": nested(100) }), 400),
    ];
    check(examples, |patch| strategic(patch, &json!({ "a": 1 }), &Schema::Deduced));
}

#[test]
fn strategic_merge_of_lists_by_key() {
    let item = |name: &str| json!({ "name": name });
    let a = || pod()["spec"]["containers"][0].clone();
    let deleted = |name: &str| json!({ "name": name, "$patch": "delete" });
    let bcd = vec![
        gives("nothing", json!([]), json!([a(), item("b"), item("c")])),
        gives(
            "a new item stands first",
            json!([item("n")]),
            json!([item("n"), a(), item("b"), item("c")]),
        ),
        gives(
            "items stand as in the patch",
            json!([item("n"), { "name": "b", "x": 1 }, item("m")]),
            json!([item("n"), a(), { "name": "b", "x": 1 }, item("m"), item("c")]),
        ),
        gives(
            "others stay before theirs",
            json!([item("c"), item("a")]),
            json!([item("b"), item("c"), a()]),
        ),
        gives("delete an item", json!([deleted("a"), deleted("z")]), json!([item("b"), item("c")])),
        gives(
            "replace the list",
            json!([{ "$patch": "replace" }, item("b"), deleted("c")]),
            json!([item("b")]),
        ),
        gives(
            "an item that replaces is lost",
            json!([{ "$patch": "replace", "name": "a" }]),
            json!([]),
        ),
        fails("merge is no directive", json!([{ "$patch": "merge", "name": "a" }]), 500),
        fails("no key", json!([{ "image": "x" }]), 500),
        fails("delete without key", json!([{ "$patch": "delete" }]), 500),
        fails("no object", json!(["a"]), 500),
        gives(
            "an item twice",
            json!([{ "name": "n", "x": 1 }, { "name": "n", "y": 1 }]),
            json!([{ "name": "n", "x": 1, "y": 1 }, a(), item("b"), item("c")]),
        ),
        gives("no list at all", json!("x"), json!("x")),
    ];
    check_at("/spec/containers", bcd);

    let first = |patch: Value| json!([{ "name": "a", "env": patch }]);
    let with =
        |env: Value| json!([{ "name": "a", "args": ["1"], "env": env }, item("b"), item("c")]);
    check_at(
        "/spec/containers",
        vec![
            gives(
                "lists in items merge",
                first(json!([{ "name": "F" }])),
                with(json!([{ "name": "F" }, { "name": "E", "value": "1" }])),
            ),
            gives(
                "nulls in items delete",
                first(json!([{ "name": "E", "value": null }])),
                with(json!([{ "name": "E" }])),
            ),
            gives(
                "other lists are replaced",
                json!([{ "name": "a", "args": ["2"], "env": [] }]),
                json!([{ "name": "a", "args": ["2"], "env": [{ "name": "E", "value": "1" }] }, item("b"), item("c")]),
            ),
            gives(
                "values to delete are taken for the list",
                json!([{ "name": "a", "$deleteFromPrimitiveList/args": ["2"] }]),
                json!([{ "name": "a", "args": ["2"], "env": [{ "name": "E", "value": "1" }] }, item("b"), item("c")]),
            ),
        ],
    );
    check_at(
        "/spec/tolerations",
        vec![gives(
            "directives mean nothing there",
            json!([{ "key": "u", "$patch": "delete" }]),
            json!([{ "key": "u" }]),
        )],
    );
    check_at(
        "/spec/volumes",
        vec![gives(
            "retained keys",
            json!([{ "name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {} }]),
            json!([{ "name": "v", "hostPath": {} }]),
        )],
    );
}

#[test]
fn strategic_merge_of_primitive_lists() {
    let metadata =
        |finalizers: Value| json!({ "labels": { "a": "1", "b": "2" }, "finalizers": finalizers });
    check_at(
        "/metadata",
        vec![
            gives(
                "added",
                json!({ "finalizers": ["z", "y", "z"] }),
                metadata(json!(["z", "x", "y"])),
            ),
            gives(
                "deleted",
                json!({ "$deleteFromPrimitiveList/finalizers": ["x", "q"] }),
                metadata(json!(["y"])),
            ),
            gives(
                "both",
                json!({ "$deleteFromPrimitiveList/finalizers": ["x"], "finalizers": ["z"] }),
                metadata(json!(["z", "y"])),
            ),
            gives(
                "deleted, added, ordered",
                json!({ "$deleteFromPrimitiveList/finalizers": ["x"], "finalizers": ["z"], "$setElementOrder/finalizers": ["y", "z"] }),
                metadata(json!(["y", "z"])),
            ),
            gives(
                "of nothing",
                json!({ "$deleteFromPrimitiveList/nothing": ["x"] }),
                metadata(json!(["x", "y"])),
            ),
            gives(
                "ordered",
                json!({ "$setElementOrder/finalizers": ["y", "x"] }),
                metadata(json!(["y", "x"])),
            ),
            fails("no list", json!({ "$deleteFromPrimitiveList/finalizers": "x" }), 422),
            fails("mixed", json!({ "finalizers": [1] }), 500),
            fails("deleted mixed", json!({ "$deleteFromPrimitiveList/finalizers": [{}] }), 500),
        ],
    );
}

#[test]
fn strategic_merge_orders_items() {
    let item = |name: &str| json!({ "name": name });
    let a = || pod()["spec"]["containers"][0].clone();
    let spec = |containers: Value| {
        let mut spec = pod()["spec"].clone();
        spec["containers"] = containers;
        spec
    };
    let order = |names: &[&str], patch: Value| {
        let names: Vec<Value> = names.iter().map(|name| item(name)).collect();
        match patch {
            Value::Null => json!({ "$setElementOrder/containers": names }),
            patch => json!({ "$setElementOrder/containers": names, "containers": patch }),
        }
    };
    let mine = json!([{ "ip": "1" }]);
    check_at(
        "/spec",
        vec![
            gives(
                "only ordered",
                order(&["c", "z", "a"], json!(null)),
                spec(json!([item("b"), item("c"), a()])),
            ),
            gives(
                "merged and ordered",
                order(&["c", "n", "a"], json!([item("n")])),
                spec(json!([item("b"), item("c"), item("n"), a()])),
            ),
            gives(
                "deleted and ordered",
                order(&["c", "a"], json!([{ "name": "b", "$patch": "delete" }])),
                spec(json!([item("c"), a()])),
            ),
            gives(
                "of nothing",
                json!({ "$setElementOrder/hostAliases": mine }),
                spec(pod()["spec"]["containers"].clone()),
            ),
            fails(
                "the patch in another order",
                order(&["c", "a"], json!([item("a"), item("c")])),
                500,
            ),
            fails("an item that is not named", order(&["c", "a"], json!([item("n")])), 500),
            fails(
                "a new list in another order",
                json!({ "$setElementOrder/hostAliases": mine, "hostAliases": [{ "ip": "2" }] }),
                500,
            ),
            fails("no list", json!({ "$setElementOrder/containers": "x" }), 500),
            fails("no items", json!({ "$setElementOrder/containers": ["x"] }), 500),
            fails("no keys", json!({ "$setElementOrder/containers": [{ "image": "x" }] }), 500),
        ],
    );
}

#[test]
fn strategic_merge_merges_selectors_that_are_atomic_for_apply() {
    let object = json!({ "spec": { "selector": { "matchLabels": { "a": "1" } } } });
    let patch = json!({ "spec": { "selector": { "matchLabels": { "b": "2" } } } });
    let merged = strategic(&patch, &object, &schema("apps", "Deployment")).unwrap();
    assert_eq!(merged["spec"]["selector"]["matchLabels"], json!({ "a": "1", "b": "2" }));
    let replaced = strategic(&patch, &object, &schema("policy", "PodDisruptionBudget")).unwrap();
    assert_eq!(replaced, patch);
}

#[test]
fn strategic_merge_error_names_field() {
    let patch = json!({ "spec": { "containers": [{ "name": "a", "env": [{ "value": "1" }] }] } });
    let error = strategic(&patch, &pod(), &schema("", "Pod")).unwrap_err();
    insta::assert_snapshot!(
        error,
        @r#"spec.containers[name="a"].env: an item has no "name", which identifies it"#
    );
    let patch = json!({ "metadata": { "labels": { "$patch": "merge" } } });
    let error = strategic(&patch, &pod(), &schema("", "Pod")).unwrap_err();
    insta::assert_snapshot!(
        error,
        @r#"metadata.labels: $patch is "merge"; expected "replace" or "delete""#
    );
}
