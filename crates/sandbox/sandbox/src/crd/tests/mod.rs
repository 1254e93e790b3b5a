//! Tables of validation results.

mod properties;
mod vectors;

use insta::assert_snapshot;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use super::*;

/// A CRD with this schema for `spec`.
fn custom(spec: &Value) -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": { "name": "things.example.dev" },
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": { "plural": "things", "kind": "Thing" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": spec, "status": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    } },
                } },
                "subresources": { "status": {} },
            }],
        },
    }))
    .unwrap()
}

fn compiled(spec: &Value) -> Crd {
    Crd::new(&custom(spec)).unwrap()
}

fn texts(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn violations(schema: &Value, spec: &Value) -> String {
    texts(&compiled(schema).storage().validate(&json!({ "spec": spec }), None))
}

fn everything() -> Value {
    json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": { "type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$" },
            "mode": { "type": "string", "enum": ["A", "B"] },
            "count": { "type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 2 },
            "port": { "x-kubernetes-int-or-string": true },
            "when": { "type": "string", "format": "date-time" },
            "list": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string" } },
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "map": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object", "required": ["name"],
                    "properties": { "name": { "type": "string" }, "size": { "type": "integer", "default": 1 } },
                    "x-kubernetes-validations": [
                        { "rule": "self.size >= oldSelf.size", "message": "it must not shrink" },
                    ],
                },
            },
            "labels": { "type": "object", "maxProperties": 1, "additionalProperties": { "type": "string" } },
            "one": {
                "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
                "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
            },
            "template": {
                "type": "object", "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
            },
        },
        "x-kubernetes-validations": [
            { "rule": "!has(self.mode) || self.mode != 'B' || has(self.count)", "message": "mode B needs a count", "fieldPath": ".count" },
        ],
    })
}

#[test]
fn validate_returns_api_server_messages() {
    let wrong = json!({
        "name": "A", "mode": "C", "count": 11, "port": true, "when": "now", "list": [],
        "set": ["a", "a"], "map": [{ "name": "a" }, { "name": "a" }, {}], "labels": { "a": "b", "c": 1 },
        "one": { "a": "x", "b": "y" }, "template": {},
    });
    assert_snapshot!(violations(&everything(), &wrong), @r#"
    spec.count: Invalid value: 11: spec.count in body should be a multiple of 2
    spec.count: Invalid value: 11: spec.count in body should be less than or equal to 9
    spec.labels: Too many: 2: must have at most 1 items
    spec.labels.c: Invalid value: "integer": spec.labels.c in body must be of type string: "integer"
    spec.list: Invalid value: 0: spec.list in body should have at least 1 items
    spec.map[2].name: Required value
    spec.mode: Unsupported value: "C": supported values: "A", "B"
    spec.name: Invalid value: "A": spec.name in body should be at least 2 chars long
    spec.name: Invalid value: "A": spec.name in body should match '^[a-z]+$'
    <nil>: Invalid value: "": "spec.one" must validate one and only one schema (oneOf). Found 2 valid alternatives
    spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: "boolean"
    spec.when: Invalid value: "now": spec.when in body must be of type date-time: "now"
    spec.template.apiVersion: Required value: must not be empty
    spec.template.kind: Required value: must not be empty
    spec.map[1]: Duplicate value: map[string]interface {}{"name":"a"}
    spec.set[1]: Duplicate value: "a"
    <nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation
    "#);
    assert_snapshot!(violations(&everything(), &json!({ "name": "abcde", "list": ["a", "b", "c"] })), @r#"
    spec.list: Too many: 3: must have at most 2 items
    spec.name: Too long: may not be more than 4 bytes
    <nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation
    "#);
    assert_snapshot!(violations(&everything(), &json!({ "name": "ab", "mode": "B" })), @r#"spec.count: Invalid value: "object": mode B needs a count"#);
    assert_snapshot!(violations(&everything(), &json!("text")), @r#"
    spec: Invalid value: "string": spec in body must be of type object: "string"
    <nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation
    "#);
    assert_eq!(violations(&everything(), &json!({ "name": "ab", "mode": "B", "count": 2 })), "");
}

#[test]
fn transition_rules_compare_items_by_key() {
    let crd = compiled(&everything());
    let with = |map: Value| json!({ "spec": { "name": "ab", "map": map } });
    let old = with(json!([{ "name": "a", "size": 5 }, { "name": "b", "size": 1 }]));
    for (map, expected) in [
        (json!([{ "name": "b", "size": 1 }, { "name": "a", "size": 5 }]), ""),
        (json!([{ "name": "c", "size": 0 }]), ""),
        (
            json!([{ "name": "b", "size": 9 }, { "name": "a", "size": 4 }]),
            "spec.map[1]: Invalid value: \"object\": it must not shrink",
        ),
    ] {
        let errors = crd.storage().validate(&with(map.clone()), Some(&old));
        assert_eq!(texts(&errors), expected, "{map}");
    }
}

#[test]
fn duplicates_of_the_old_list_are_tolerated() {
    let crd = compiled(&everything());
    let with = |set: Value| json!({ "spec": { "name": "ab", "set": set } });
    let twice = with(json!(["a", "a"]));
    assert_eq!(crd.storage().validate(&twice, None).len(), 1);
    assert_eq!(crd.storage().validate(&twice, Some(&with(json!(["a"])))).len(), 1);
    assert_eq!(crd.storage().validate(&twice, Some(&twice)).len(), 0);
}

#[test]
fn crd_with_invalid_rule_is_refused() {
    let rule = json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "self.(" }, { "rule": "" }] });
    let errors = Crd::new(&custom(&rule)).unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].to_string().contains(
        "x-kubernetes-validations[0].rule: Invalid value: \"self.(\": compilation failed"
    ));
    assert!(errors[1].to_string().ends_with("[1].rule: Required value: rule is not specified"));
}

#[test]
fn crd_with_deeply_nested_schema_is_refused() {
    let deep = (0..100).fold(
        json!({ "type": "string" }),
        |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
    );
    assert_eq!(Crd::new(&custom(&deep)).unwrap_err().len(), 1);
}

#[test]
fn nested_logic_is_evaluated_once() {
    let deep = (0..25).fold(
        json!({ "minLength": 9 }),
        |inner, _| json!({ "oneOf": [inner.clone(), { "anyOf": [{ "enum": ["x"] }] }] }),
    );
    let mut schema = deep;
    schema["type"] = json!("string");
    let violations = violations(&schema, &json!("short"));
    assert!(violations.contains("Found none valid"), "{violations}");
}

#[test]
fn validate_returns_at_most_100_errors() {
    let schema =
        json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } });
    let wrong: Vec<_> = (0..20_000).map(|number| number % 5_000).collect();
    let errors = compiled(&schema).storage().validate(&json!({ "spec": wrong }), None);
    assert_eq!(errors.len(), 100);
}

#[test]
fn status_keeps_transition_times_and_stored_versions() {
    let now: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
    let later: Timestamp = "2026-11-15T11:00:00Z".parse().unwrap();
    let crd = compiled(&everything());
    let first = crd.status(None, now);
    assert_eq!(crd.status(Some(&first), later), first, "true conditions are unchanged");

    let mut moved = custom(&everything());
    moved.spec.versions.push(moved.spec.versions[0].clone());
    moved.spec.versions[0].storage = false;
    moved.spec.versions[1].name = "v2".to_owned();
    let moved = Crd::new(&moved).unwrap().status(Some(&first), later);
    assert_eq!(moved.stored_versions, Some(vec!["v1".to_owned(), "v2".to_owned()]));
}
