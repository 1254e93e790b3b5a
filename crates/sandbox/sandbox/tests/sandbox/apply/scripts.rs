//! Sequences of writes that random generation is unlikely to produce.

use serde_json::{Value, json};

use super::kinds::WriteStep;

fn apply(manager: &'static str, content: Value) -> WriteStep {
    WriteStep::Apply { manager, force: false, content }
}

fn force(manager: &'static str, content: Value) -> WriteStep {
    WriteStep::Apply { manager, force: true, content }
}

fn put(manager: &'static str, content: Value) -> WriteStep {
    WriteStep::Put { manager, content }
}

fn merge(manager: &'static str, content: Value) -> WriteStep {
    WriteStep::Merge { manager, content }
}

pub(crate) fn config_map_scripts() -> Vec<Vec<WriteStep>> {
    let data = |value: Value| json!({ "data": value });
    let managers =
        ["m01", "m02", "m03", "m04", "m05", "m06", "m07", "m08", "m09", "m10", "m11", "m12", "m13"];
    let many = managers.map(|manager| merge(manager, data(json!({ manager: "red" }))));
    let reset = json!({ "metadata": { "managedFields": [{}] }, "data": { "a": "red" } });
    let given = json!({ "metadata": { "managedFields": [] }, "data": { "a": "red" } });
    let edited = json!({
        "metadata": { "managedFields": [{
            "manager": "bert", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": { "f:data": { "f:a": {} } },
        }] },
        "data": { "a": "red", "b": "red" },
    });
    let both = data(json!({ "a": "red", "b": "red" }));
    vec![
        many.to_vec(),
        [
            many.to_vec(),
            vec![
                apply("anna", data(json!({ "m01": "red" }))),
                merge("m01", data(json!({ "x": "y" }))),
            ],
        ]
        .concat(),
        vec![
            apply("anna", both.clone()),
            put("bert", reset),
            put("bert", both.clone()),
            apply("carl", both.clone()),
        ],
        vec![apply("anna", both.clone()), apply("anna", given.clone()), put("bert", given)],
        vec![
            apply("anna", both.clone()),
            put("carl", edited),
            apply("bert", data(json!({ "b": "red" }))),
        ],
        // A field with two owners is removed by the second.
        vec![
            apply("anna", both.clone()),
            apply("bert", both.clone()),
            apply("anna", data(json!({ "a": "red" }))),
            apply("bert", data(json!({ "a": "red" }))),
        ],
        vec![
            apply("anna", both.clone()),
            force("bert", data(json!({ "a": "green" }))),
            apply("anna", both),
        ],
    ]
}

pub(crate) fn gadget_scripts() -> Vec<Vec<WriteStep>> {
    let spec = |value: Value| json!({ "spec": value });
    let items = |value: Value| spec(json!({ "items": value }));
    let malformed = [
        json!({ "items": [{ "value": "red" }] }),
        json!({ "items": [{ "name": "a" }, { "name": "a" }] }),
        json!({ "items": [{ "name": "a", "tags": ["red", "red"] }] }),
        json!({ "items": [null] }),
        json!({ "items": ["a"] }),
        json!({ "items": { "name": "a" } }),
        json!({ "ports": [{ "port": 80 }, { "port": 80, "protocol": "TCP" }] }),
        json!({ "set": ["red", ["red"]] }),
        json!({ "set": ["red", null] }),
        json!({ "set": [{}] }),
        json!({ "nested": "red" }),
        json!({ "nested": [] }),
    ];
    let mut scripts: Vec<Vec<WriteStep>> =
        malformed.map(|content| vec![apply("anna", spec(content))]).to_vec();
    scripts.extend([
        vec![
            apply("anna", items(json!([{ "name": "a", "size": 1 }]))),
            apply("bert", items(json!([{ "name": "a", "size": 2 }, { "name": "b" }]))),
            apply("bert", items(json!([{ "name": "a", "value": "red" }, { "name": "b" }]))),
            apply("anna", items(json!([{ "name": "b" }]))),
            apply("bert", items(json!([{ "name": "b" }]))),
        ],
        // An equal value is not a conflict: the first owner keeps it.
        vec![
            put("anna", spec(json!({ "count": 1, "set": ["red"] }))),
            apply("bert", spec(json!({ "count": 1, "set": ["red", "green"] }))),
            merge("anna", spec(json!({ "count": null }))),
            apply("bert", spec(json!({ "title": "red" }))),
        ],
        vec![
            apply("anna", spec(json!({ "whole": { "a": "red" }, "list": ["red"] }))),
            apply("bert", spec(json!({ "whole": { "b": "red" } }))),
            force("bert", spec(json!({ "whole": { "b": "red" } }))),
            apply("anna", spec(json!({ "list": ["red"] }))),
            apply("bert", spec(json!({ "title": "red" }))),
        ],
        vec![
            apply("anna", spec(json!({ "free": { "a": 1, "b": "red" } }))),
            apply("bert", spec(json!({ "free": { "a": "one" } }))),
            force("bert", spec(json!({ "free": { "a": ["one"] } }))),
        ],
    ]);
    scripts
}
