//! Custom resources whose tables are compared.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition,
};
use serde_json::{Value, json};

use super::objects::named;

/// CRDs with the columns of the update API, with all types of columns, and with none; each with
/// objects.
pub(super) fn definitions(group: &str) -> Vec<(CustomResourceDefinition, Vec<Value>)> {
    let mut all: Vec<_> = fairway_api::crds::all()
        .into_iter()
        .map(|definition| {
            let kind = definition.spec.names.kind.clone();
            let columns = definition.spec.versions[0].additional_printer_columns.clone();
            let columns = columns.unwrap_or_default();
            (definition_of(group, &kind, columns), vec![object(group, &kind, status())])
        })
        .collect();
    let odd = object(group, "Odd", odd_content());
    all.push((definition_of(group, "Odd", odd_columns()), vec![odd]));
    all.push((definition_of(group, "Plain", Vec::new()), vec![object(group, "Plain", json!({}))]));
    all
}

fn definition_of(
    group: &str,
    kind: &str,
    columns: Vec<CustomResourceColumnDefinition>,
) -> CustomResourceDefinition {
    let plural = format!("{}s", kind.to_lowercase());
    let mut definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Cluster", "names": { "kind": kind, "plural": plural },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    }))
    .unwrap();
    definition.spec.versions[0].additional_printer_columns = Some(columns);
    definition
}

fn object(group: &str, kind: &str, mut content: Value) -> Value {
    content["apiVersion"] = json!(format!("{group}/v1"));
    content["kind"] = json!(kind);
    named("o", content)
}

fn status() -> Value {
    let time = "2020-01-01T00:00:00Z";
    json!({ "status": {
        "history": [
            { "state": "Partial", "version": "1.2.0" },
            { "state": "Completed", "version": "1.1.0" },
            { "state": "Completed", "version": "1.0.0" },
        ],
        "versions": [{ "name": "operand", "version": "3" }, { "name": "operator", "version": "1.1.0" }],
        "conditions": [
            { "type": "Available", "status": "True", "lastTransitionTime": time },
            { "type": "Progressing", "status": "False", "message": "all is well", "lastTransitionTime": time },
        ],
    } })
}

fn odd_content() -> Value {
    json!({ "spec": {
        "text": "t", "integer": 7, "number": 1.5, "whole": 2.0, "yes": true, "null": null,
        "list": ["a", "b", "c"], "object": { "k": [1, "x"] }, "a.b": "dotted", "empty": "",
        "times": ["2020-01-01T00:00:00Z", "yesterday", "2999-01-01T00:00:00Z"],
        "items": [
            { "name": "one", "size": 1, "tags": [{ "k": "x", "v": "1" }, { "k": "y", "v": "2" }] },
            { "name": "two", "size": 2, "on": true, "tags": [{ "k": "x", "v": "3" }] },
        ],
    } })
}

fn odd_columns() -> Vec<CustomResourceColumnDefinition> {
    let paths = [
        ".spec.text",
        ".spec.integer",
        ".spec.number",
        ".spec.whole",
        ".spec.yes",
        ".spec.null",
        ".spec.list",
        ".spec.object",
        ".spec.empty",
        ".spec.missing",
        ".spec.missing.more",
        ".spec.list[0]",
        ".spec.list[-1]",
        ".spec.list[9]",
        ".spec.list[*]",
        ".spec.items[*].name",
        ".spec.times[0]",
        ".spec.times[1]",
        ".spec.times[2]",
        ".spec['a.b']",
        r".spec['a\.b']",
        ".spec.object['k'][0]",
        ".spec['object.k'][0]",
        r".spec.a\.b",
        r#".spec.items[?(@.name=="two")].size"#,
        ".spec.items[?(@.name=='two')].size",
        r#".spec.items[?(@.name!="two")].name"#,
        ".spec.items[?(@.size==2)].name",
        ".spec.items[?(@.on==true)].name",
        ".spec.items[?(@.on)].name",
        r#".spec.items[?(@.name=="none")].name"#,
        r#".spec.items[?(@.name == "two")].name"#,
        r#".spec.items[?(@.name=="two")].tags[?(@.k=="x")].v"#,
        r#".spec.items[*].tags[?(@.k=="y")].v"#,
        ".spec.text.more",
        ".spec.text[0]",
        ".metadata.name",
        ".metadata['name']",
        ".metadata.labels.none",
        ".spec.object.k[1]",
    ];
    let types = ["string", "integer", "number", "boolean", "date"];
    let columns = paths.iter().flat_map(|path| types.map(|type_| (path, type_)));
    columns
        .enumerate()
        .map(|(number, (path, type_))| CustomResourceColumnDefinition {
            name: format!("{type_} {path}"),
            type_: type_.to_owned(),
            json_path: (*path).to_owned(),
            priority: i32::try_from(number % 3).ok(),
            format: (type_ == "integer").then(|| "int64".to_owned()),
            description: None,
        })
        .collect()
}
