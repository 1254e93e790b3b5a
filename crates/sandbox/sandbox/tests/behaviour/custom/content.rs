//! Validation, pruning and defaulting of custom resources.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::json;

use crate::support::{CRDS, Case, PatchType, Transcript, widgets};

#[tokio::test]
async fn custom_resource_is_validated_on_create() -> Result<()> {
    let case = Case::begin("custom").await?;
    let schema = json!({
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": { "type": "integer", "minimum": 1, "maximum": 9 },
            "color": { "type": "string", "enum": ["red", "blue"] },
            "name": { "type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 4 },
            "parts": { "type": "array", "maxItems": 2, "items": { "type": "string" } },
            "flags": { "type": "object", "additionalProperties": { "type": "boolean" } },
            "either": {
                "type": "object",
                "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
                "oneOf": [{ "required": ["a"] }, { "required": ["b"] }],
            },
            "when": { "type": "string", "format": "date-time" },
            "share": { "x-kubernetes-int-or-string": true },
        },
    });
    case.define(&schema).await?;
    let mut transcript = Transcript::default();
    for spec in [
        json!({}),
        json!({ "size": "1" }),
        json!({ "size": 0 }),
        json!({ "size": 10 }),
        json!({ "size": 1.5 }),
        json!({ "size": null }),
        json!({ "size": 1, "color": "green" }),
        json!({ "size": 1, "name": "a" }),
        json!({ "size": 1, "name": "ABC" }),
        json!({ "size": 1, "name": "abcde" }),
        json!({ "size": 1, "parts": ["a", "b", "c"] }),
        json!({ "size": 1, "flags": { "x": "yes" } }),
        json!({ "size": 1, "when": "yesterday" }),
        json!({ "size": 1, "share": true }),
        json!([]),
        json!({ "size": 0, "color": "green", "name": "ABC" }),
    ] {
        transcript.add(&spec, &case.create_widget("w", &spec).await?);
    }
    assert_snapshot!(transcript, @r#"
    {}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueRequired spec.size: Required value
    {"size":"1"}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTypeInvalid spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"
    {"size":0}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1
    {"size":10}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9
    {"size":1.5}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTypeInvalid spec.size: Invalid value: "number": spec.size in body must be of type integer: "number"
    {"size":null}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueRequired spec.size: Required value
    {"color":"green","size":1}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueNotSupported spec.color: Unsupported value: "green": supported values: "red", "blue"
    {"name":"a","size":1}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec.name: Invalid value: "a": spec.name in body should be at least 2 chars long
    {"name":"ABC","size":1}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec.name: Invalid value: "ABC": spec.name in body should match '^[a-z]+$'
    {"name":"abcde","size":1}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTooLong spec.name: Too long: may not be more than 4 bytes
    {"parts":["a","b","c"],"size":1}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTooMany spec.parts: Too many: 3: must have at most 2 items
    {"flags":{"x":"yes"},"size":1}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTypeInvalid spec.flags.x: Invalid value: "string": spec.flags.x in body must be of type boolean: "string"
    {"size":1,"when":"yesterday"}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTypeInvalid spec.when: Invalid value: "yesterday": spec.when in body must be of type date-time: "yesterday"
    {"share":true,"size":1}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTypeInvalid spec.share: Invalid value: "boolean": spec.share in body must be of type integer,string: "boolean"
    []: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTypeInvalid spec: Invalid value: "array": spec in body must be of type object: "array"
    {"color":"green","name":"ABC","size":0}: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec.name: Invalid value: "ABC": spec.name in body should match '^[a-z]+$'
      FieldValueInvalid spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1
      FieldValueNotSupported spec.color: Unsupported value: "green": supported values: "red", "blue"
    "#);
    for spec in [json!({ "size": 1, "either": {} }), json!({ "size": 1, "parts": ["a", 2] })] {
        assert_eq!(case.create_widget("w", &spec).await?.status, 422, "{spec}");
    }
    let spec =
        json!({ "size": 1, "name": "abc", "parts": ["a"], "share": "5%", "either": { "a": "x" } });
    assert_eq!(case.create_widget("w", &spec).await?.object()?["spec"], spec);
    Ok(())
}

#[tokio::test]
async fn custom_resource_is_validated_on_update() -> Result<()> {
    let case = Case::begin("custom").await?;
    let schema =
        json!({ "type": "object", "properties": { "size": { "type": "integer", "maximum": 9 } } });
    let path = format!("{}/w", case.define(&schema).await?);
    case.create_widget("w", &json!({ "size": 1 })).await?.object()?;
    let mut transcript = Transcript::default();
    let change = json!({ "spec": { "size": 10 } });
    transcript.add("merge", &case.merge(&path, &change).await?);
    let operation = json!([{ "op": "replace", "path": "/spec/size", "value": "x" }]);
    transcript.add("json", &case.patch(PatchType::Json, &path, &operation).await?);
    transcript.add("strategic", &case.patch(PatchType::Strategic, &path, &change).await?);
    transcript.add(
        "unconditional",
        &case.replace(&path, &case.widget("w", &json!({ "size": 2 }))).await?,
    );
    assert_snapshot!(transcript, @r#"
    merge: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9
    json: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueTypeInvalid spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"
    strategic: 415 UnsupportedMediaType: the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml
    unconditional: 422 Invalid: widgets.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"widgets","name":"w"}
      FieldValueInvalid metadata.resourceVersion: Invalid value: 0x0: must be specified for an update
    "#);
    Ok(())
}

#[tokio::test]
async fn unknown_fields_are_pruned_unless_preserved() -> Result<()> {
    let case = Case::begin("custom").await?;
    let schema = json!({
        "type": "object",
        "properties": {
            "known": { "type": "string" },
            "open": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": { "closed": { "type": "object" } },
            },
            "list": { "type": "array", "items": { "type": "object", "properties": { "a": { "type": "string" } } } },
            "raw": {
                "type": "object", "x-kubernetes-embedded-resource": true,
                "properties": { "spec": { "type": "object" } },
            },
        },
    });
    case.define(&schema).await?;
    let spec = json!({
        "known": "k", "unknown": "u",
        "open": { "any": [{ "thing": 1 }], "closed": { "x": 1 } },
        "list": [{ "a": "1", "b": "2" }],
        "raw": { "apiVersion": "v1", "kind": "Anything", "metadata": { "name": "r", "nonsense": 1 }, "spec": {} },
    });
    let created = case.create_widget("w", &spec).await?.object()?;
    assert_snapshot!(created["spec"], @r#"{"known":"k","list":[{"a":"1"}],"open":{"any":[{"thing":1}],"closed":{}},"raw":{"apiVersion":"v1","kind":"Anything","metadata":{"name":"r"},"spec":{}}}"#);
    Ok(())
}

#[tokio::test]
async fn schema_defaults_are_applied() -> Result<()> {
    let case = Case::begin("custom").await?;
    let schema = json!({
        "type": "object",
        "default": {},
        "properties": {
            "size": { "type": "integer", "default": 3 },
            "nested": { "type": "object", "properties": { "deep": { "type": "string", "default": "d" } } },
            "filled": {
                "type": "object", "default": { "a": "x" },
                "properties": { "a": { "type": "string" }, "b": { "type": "string", "default": "b" } },
            },
            "list": { "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer", "default": 1 } } } },
            "nothing": { "type": "string", "nullable": true, "default": "not null" },
        },
    });
    let path = format!("{}/w", case.define(&schema).await?);
    let mut transcript = Transcript::default();
    for spec in [
        json!({}),
        json!({ "size": null, "nested": {}, "nothing": null }),
        json!({ "size": 4, "filled": {}, "list": [{}, { "n": 2 }] }),
    ] {
        transcript.line(&spec, &case.create_widget("w", &spec).await?.object()?["spec"]);
        case.delete(&path).await?.object()?;
    }
    let mut without = case.widget("w", &json!({}));
    without.as_object_mut().map(|object| object.remove("spec"));
    let (collection, _) = path.split_once('/').unwrap_or_default();
    transcript.line("no spec", &case.create(collection, &without).await?.object()?["spec"]);
    assert_snapshot!(transcript, @r#"
    {}: {"filled":{"a":"x","b":"b"},"nothing":"not null","size":3}
    {"nested":{},"nothing":null,"size":null}: {"filled":{"a":"x","b":"b"},"nested":{"deep":"d"},"nothing":null,"size":3}
    {"filled":{},"list":[{},{"n":2}],"size":4}: {"filled":{"b":"b"},"list":[{"n":1},{"n":2}],"nothing":"not null","size":4}
    no spec: {"filled":{"a":"x","b":"b"},"nothing":"not null","size":3}
    "#);
    Ok(())
}

#[tokio::test]
async fn new_schema_defaults_apply_to_stored_objects() -> Result<()> {
    let case = Case::begin("custom").await?;
    let mut definition = widgets(
        case.ns(),
        &json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
    );
    let name = case.define_as(&definition).await?;
    case.create_widget("w", &json!({ "a": "1" })).await?.object()?;
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]["b"] = json!({ "type": "string", "default": "new" });
    let path = format!("{CRDS}/{name}");
    case.merge(&path, &json!({ "spec": definition["spec"] })).await?.object()?;
    case.until(&format!("{name}/w"), "the new default", |widget| widget["spec"]["b"] == "new")
        .await?;
    Ok(())
}

#[tokio::test]
async fn list_maps_and_sets_require_unique_items() -> Result<()> {
    let case = Case::begin("custom").await?;
    let schema = json!({
        "type": "object",
        "properties": {
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "map": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": { "type": "object", "required": ["k"], "properties": { "k": { "type": "string" } } },
            },
        },
    });
    case.define(&schema).await?;
    let mut transcript = Transcript::default();
    for spec in [
        json!({ "set": ["a", "b", "a"] }),
        json!({ "map": [{ "k": "a" }, { "k": "b" }, { "k": "a" }] }),
    ] {
        transcript.line(&spec, case.create_widget("w", &spec).await?.fields());
    }
    assert_snapshot!(transcript, @r#"
    {"set":["a","b","a"]}: 422 Invalid
      FieldValueDuplicate spec.set[2]
    {"map":[{"k":"a"},{"k":"b"},{"k":"a"}]}: 422 Invalid
      FieldValueDuplicate spec.map[2]
    "#);
    Ok(())
}

#[tokio::test]
async fn custom_resource_metadata_is_validated() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = case.define(&json!({ "type": "object" })).await?;
    let mut transcript = Transcript::default();
    transcript.add("name", &case.create_widget("A b", &json!({})).await?);
    let mut widget = case.widget("w", &json!({}));
    widget["metadata"]["labels"] = json!({ "a": "b c" });
    transcript.add("label", &case.create(&path, &widget).await?);
    widget["metadata"]["labels"] = json!({ "a": 1 });
    transcript.line("number", case.create(&path, &widget).await?.outline());
    widget["metadata"] = json!({ "generateName": "made-up-" });
    let made_up = case.create(&path, &widget).await?.object()?;
    assert!(made_up["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("made-up-")));
    widget = case.widget("w", &json!({}));
    widget["kind"] = json!("Gadget");
    transcript.add("kind", &case.create(&path, &widget).await?);
    assert_snapshot!(transcript, @r#"
    name: 422 Invalid: Widget.NS.test "A b" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"A b"}
      FieldValueInvalid metadata.name: Invalid value: "A b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    label: 422 Invalid: Widget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Widget","name":"w"}
      FieldValueInvalid metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
    number: 400 BadRequest
    kind: 422 Invalid: Gadget.NS.test "w" is invalid: …
      about {"group":"NS.test","kind":"Gadget","name":"w"}
      FieldValueInvalid kind: Invalid value: "Gadget": must be Widget
    "#);
    Ok(())
}
