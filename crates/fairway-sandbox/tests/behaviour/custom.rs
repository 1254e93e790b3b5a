//! Custom resources: what their definitions make of them.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Patch, Transcript, widgets};

#[tokio::test]
async fn custom_objects_are_validated() -> Result<()> {
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
    let mut said = Transcript::default();
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
        said.add(&spec, &case.create_widget("w", &spec).await?);
    }
    assert_snapshot!(said, @r#"
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
async fn an_update_is_validated_too() -> Result<()> {
    let case = Case::begin("custom").await?;
    let schema =
        json!({ "type": "object", "properties": { "size": { "type": "integer", "maximum": 9 } } });
    let path = format!("{}/w", case.define(&schema).await?);
    case.create_widget("w", &json!({ "size": 1 })).await?.object()?;
    let mut said = Transcript::default();
    let patch = json!({ "spec": { "size": 10 } });
    said.add("merge", &case.merge(&path, &patch).await?);
    let operation = json!([{ "op": "replace", "path": "/spec/size", "value": "x" }]);
    said.add("json", &case.patch(Patch::Json, &path, &operation).await?);
    said.add("strategic", &case.patch(Patch::Strategic, &path, &patch).await?);
    said.add(
        "unconditional",
        &case.replace(&path, &case.widget("w", &json!({ "size": 2 }))).await?,
    );
    assert_snapshot!(said, @r#"
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
async fn unknown_fields_are_pruned_unless_they_are_to_be_preserved() -> Result<()> {
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
async fn defaults_are_filled_in() -> Result<()> {
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
    let mut said = Transcript::default();
    for spec in [
        json!({}),
        json!({ "size": null, "nested": {}, "nothing": null }),
        json!({ "size": 4, "filled": {}, "list": [{}, { "n": 2 }] }),
    ] {
        said.line(&spec, &case.create_widget("w", &spec).await?.object()?["spec"]);
        case.delete(&path).await?.object()?;
    }
    let mut without = case.widget("w", &json!({}));
    without.as_object_mut().map(|object| object.remove("spec"));
    let (collection, _) = path.split_once('/').unwrap_or_default();
    said.line("no spec", &case.create(collection, &without).await?.object()?["spec"]);
    assert_snapshot!(said, @r#"
    {}: {"filled":{"a":"x","b":"b"},"nothing":"not null","size":3}
    {"nested":{},"nothing":null,"size":null}: {"filled":{"a":"x","b":"b"},"nested":{"deep":"d"},"nothing":null,"size":3}
    {"filled":{},"list":[{},{"n":2}],"size":4}: {"filled":{"b":"b"},"list":[{"n":1},{"n":2}],"nothing":"not null","size":4}
    no spec: {"filled":{"a":"x","b":"b"},"nothing":"not null","size":3}
    "#);
    Ok(())
}

#[tokio::test]
async fn new_defaults_show_in_old_objects() -> Result<()> {
    let case = Case::begin("custom").await?;
    let mut definition = widgets(
        case.ns(),
        &json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
    );
    let name = case.define_as(&definition).await?;
    case.create_widget("w", &json!({ "a": "1" })).await?.object()?;
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]["b"] = json!({ "type": "string", "default": "new" });
    let path = format!("{}/{name}", crate::support::DEFINITIONS);
    case.merge(&path, &json!({ "spec": definition["spec"] })).await?.object()?;
    case.until(&format!("{name}/w"), "the new default", |widget| widget["spec"]["b"] == "new")
        .await?;
    Ok(())
}

#[tokio::test]
async fn keys_and_elements_of_lists_are_unique_where_they_have_to_be() -> Result<()> {
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
    let mut said = Transcript::default();
    for spec in [
        json!({ "set": ["a", "b", "a"] }),
        json!({ "map": [{ "k": "a" }, { "k": "b" }, { "k": "a" }] }),
    ] {
        said.line(&spec, case.create_widget("w", &spec).await?.fields());
    }
    assert_snapshot!(said, @r#"
    {"set":["a","b","a"]}: 422 Invalid
      FieldValueDuplicate spec.set[2]
    {"map":[{"k":"a"},{"k":"b"},{"k":"a"}]}: 422 Invalid
      FieldValueDuplicate spec.map[2]
    "#);
    Ok(())
}

/// Widgets with the status and scale subresources.
fn with_subresources(case: &Case) -> Value {
    let spec = json!({ "type": "object", "properties": { "replicas": { "type": "integer" } } });
    let mut definition = widgets(case.ns(), &spec);
    definition["spec"]["versions"][0]["subresources"] = json!({
        "status": {},
        "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
    });
    definition
}

#[tokio::test]
async fn a_status_subresource_separates_what_is_from_what_is_wanted() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = format!("{}/w", case.define_as(&with_subresources(&case)).await?);
    let (collection, _) = path.split_once('/').unwrap_or_default();
    let mut widget = case.widget("w", &json!({ "replicas": 1 }));
    widget["status"] = json!({ "a": "ignored" });
    let created = case.create(collection, &widget).await?.object()?;
    assert_eq!((&created["status"], &created["metadata"]["generation"]), (&Value::Null, &json!(1)));
    let status = json!({ "spec": { "replicas": 9 }, "status": { "a": "b" }, "metadata": { "labels": { "l": "m" } } });
    let after = case.merge(&format!("{path}/status"), &status).await?.object()?;
    assert_snapshot!(json!([after["spec"], after["status"], after["metadata"]["generation"], after["metadata"]["labels"]]), @r#"[{"replicas":1},{"a":"b"},1,null]"#);
    let after = case
        .merge(&path, &json!({ "spec": { "replicas": 2 }, "status": { "a": "c" } }))
        .await?
        .object()?;
    assert_snapshot!(json!([after["spec"], after["status"], after["metadata"]["generation"]]), @r#"[{"replicas":2},{"a":"b"},2]"#);
    Ok(())
}

#[tokio::test]
async fn without_a_status_subresource_there_is_none() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = format!("{}/w", case.define(&json!({ "type": "object" })).await?);
    let mut widget = case.widget("w", &json!({}));
    widget["status"] = json!({ "a": "b" });
    let (collection, _) = path.split_once('/').unwrap_or_default();
    let created = case.create(collection, &widget).await?.object()?;
    assert_eq!(created["status"], json!({ "a": "b" }));
    assert_snapshot!(case.get(&format!("{path}/status")).await?.shown(), @r#"
    404 NotFound: widgets.NS.test "w" not found
      about {"group":"NS.test","kind":"widgets","name":"w"}
    "#);
    assert_snapshot!(case.get(&format!("{path}/scale")).await?.shown(), @r#"
    404 NotFound: widgets.NS.test "w" not found
      about {"group":"NS.test","kind":"widgets","name":"w"}
    "#);
    Ok(())
}

#[tokio::test]
async fn a_scale_subresource_shows_and_changes_a_number() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = format!("{}/w", case.define_as(&with_subresources(&case)).await?);
    case.create_widget("w", &json!({ "replicas": 2 })).await?.object()?;
    case.merge(&format!("{path}/status"), &json!({ "status": { "replicas": 1 } }))
        .await?
        .object()?;
    let scale = case.get(&format!("{path}/scale")).await?.object()?;
    assert_snapshot!(json!([scale["kind"], scale["apiVersion"], scale["spec"], scale["status"]]), @r#"["Scale","autoscaling/v1",{"replicas":2},{"replicas":1}]"#);
    case.merge(&format!("{path}/scale"), &json!({ "spec": { "replicas": 5 } })).await?.object()?;
    assert_eq!(case.get(&path).await?.object()?["spec"]["replicas"], 5);
    Ok(())
}

#[tokio::test]
async fn several_versions_show_the_same_objects() -> Result<()> {
    let case = Case::begin("custom").await?;
    let mut definition = widgets(
        case.ns(),
        &json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
    );
    let version = definition["spec"]["versions"][0].clone();
    let named = |name: &str, served: bool| {
        let mut version = version.clone();
        version["name"] = json!(name);
        version["storage"] = json!(name == "v1");
        version["served"] = json!(served);
        version
    };
    definition["spec"]["versions"] =
        json!([named("v1", true), named("v2", true), named("v3", false)]);
    case.define_as(&definition).await?;
    case.create_widget("w", &json!({ "a": "x" })).await?.object()?;
    let group = format!("{}.test", case.ns());
    let other =
        case.get(&format!("/apis/{group}/v2/namespaces/{{ns}}/widgets/w")).await?.object()?;
    assert_eq!(other["apiVersion"], format!("{group}/v2"));
    assert_eq!(other["spec"], json!({ "a": "x" }));
    let unserved = case.get(&format!("/apis/{group}/v3/namespaces/{{ns}}/widgets/w")).await?;
    assert_snapshot!(format!("{} {:?}", unserved.status, unserved.text()), @r#"404 "404 page not found\n""#);
    let wrong = case
        .create(
            &format!("/apis/{group}/v2/namespaces/{{ns}}/widgets"),
            &case.widget("x", &json!({})),
        )
        .await?;
    assert_snapshot!(wrong.shown(), @"400 BadRequest: the API version in the data (NS.test/v1) does not match the expected API version (NS.test/v2)");
    Ok(())
}

#[tokio::test]
async fn cluster_wide_resources_are_in_no_namespace() -> Result<()> {
    let case = Case::begin("custom").await?;
    let mut definition = widgets(case.ns(), &json!({ "type": "object" }));
    definition["spec"]["scope"] = json!("Cluster");
    let path = case.define_as(&definition).await?;
    assert_eq!(case.get(&path).await?.status, 404);
    let path = format!("/apis/{}.test/v1/widgets", case.ns());
    let created = case.create(&path, &case.widget("w", &json!({}))).await?.object()?;
    assert_eq!(created["metadata"]["namespace"], Value::Null);
    assert_eq!(case.get(&format!("{path}/w")).await?.object()?, created);
    Ok(())
}

#[tokio::test]
async fn metadata_of_custom_objects_is_checked() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = case.define(&json!({ "type": "object" })).await?;
    let mut said = Transcript::default();
    said.add("name", &case.create_widget("A b", &json!({})).await?);
    let mut widget = case.widget("w", &json!({}));
    widget["metadata"]["labels"] = json!({ "a": "b c" });
    said.add("label", &case.create(&path, &widget).await?);
    widget["metadata"]["labels"] = json!({ "a": 1 });
    said.line("number", case.create(&path, &widget).await?.outline());
    widget["metadata"] = json!({ "generateName": "made-up-" });
    let made_up = case.create(&path, &widget).await?.object()?;
    assert!(made_up["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("made-up-")));
    widget = case.widget("w", &json!({}));
    widget["kind"] = json!("Gadget");
    said.add("kind", &case.create(&path, &widget).await?);
    assert_snapshot!(said, @r#"
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

#[tokio::test]
async fn lists_of_custom_resources_are_owned_by_their_keys() -> Result<()> {
    let case = Case::begin("custom").await?;
    let element = json!({
        "type": "object", "required": ["k"],
        "properties": { "k": { "type": "string" }, "v": { "type": "string" } },
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "map": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": element },
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "atomic": { "type": "array", "items": { "type": "string" } },
        },
    });
    let path = format!("{}/w", case.define(&schema).await?);
    let one = json!({ "map": [{ "k": "a", "v": "1" }], "set": ["x"], "atomic": ["p"] });
    case.apply(&path, "one", &case.widget("w", &one)).await?.object()?;
    let two = json!({ "map": [{ "k": "b", "v": "2" }], "set": ["y"] });
    let after = case.apply(&path, "two", &case.widget("w", &two)).await?.object()?;
    assert_snapshot!(after["spec"], @r#"{"atomic":["p"],"map":[{"k":"a","v":"1"},{"k":"b","v":"2"}],"set":["x","y"]}"#);
    let both = json!({ "map": [{ "k": "a", "v": "2" }], "atomic": ["p", "q"] });
    assert_snapshot!(case.apply(&path, "two", &case.widget("w", &both)).await?.shown(), @r#"
    409 Conflict: Apply failed with 2 conflicts: conflicts with "one":
    - .spec.atomic
    - .spec.map[k="a"].v
      FieldManagerConflict .spec.atomic: conflict with "one"
      FieldManagerConflict .spec.map[k="a"].v: conflict with "one"
    "#);
    let after =
        case.apply(&path, "one", &case.widget("w", &json!({ "set": ["x"] }))).await?.object()?;
    assert_snapshot!(after["spec"], @r#"{"map":[{"k":"b","v":"2"}],"set":["x","y"]}"#);
    Ok(())
}

#[tokio::test]
async fn custom_objects_are_selected_by_name_and_namespace_alone() -> Result<()> {
    let case = Case::begin("custom").await?;
    let path = case.define(&json!({ "type": "object" })).await?;
    case.create_widget("w", &json!({})).await?.object()?;
    let found = case.get(&format!("{path}?fieldSelector=metadata.name%3Dw")).await?.object()?;
    assert_eq!(found["items"].as_array().map(Vec::len), Some(1));
    assert_snapshot!(case.get(&format!("{path}?fieldSelector=spec.a%3Dw")).await?.shown(), @"400 BadRequest: field label not supported: spec.a");
    Ok(())
}
