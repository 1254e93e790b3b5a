//! CRDs.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{ApiResponse, CRDS, Case, Transcript, is_deleting, widgets};

fn object() -> Value {
    json!({ "type": "object" })
}

/// The conditions of a CRD, one per line.
fn conditions(definition: &Value) -> String {
    let conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
    let mut lines: Vec<String> = conditions
        .map(|it| format!("{} {} {} {}", it["type"], it["status"], it["reason"], it["message"]))
        .collect();
    lines.sort();
    lines.join("\n")
}

#[tokio::test]
async fn crd_conditions_report_established() -> Result<()> {
    let case = Case::begin("define").await?;
    let name = case.define(&object()).await?;
    let definition = case
        .until(&format!("{CRDS}/{name}"), "to be established", |definition| {
            conditions(definition).contains("\"Established\" \"True\"")
        })
        .await?;
    let status = &definition["status"];
    assert_snapshot!(conditions(&definition), @r#"
    "Established" "True" "InitialNamesAccepted" "the initial names have been accepted"
    "NamesAccepted" "True" "NoConflicts" "no conflicts found"
    "#);
    assert_eq!(status["storedVersions"], json!(["v1"]));
    assert_snapshot!(status["acceptedNames"], @r#"{"kind":"Widget","listKind":"WidgetList","plural":"widgets","singular":"widget"}"#);
    Ok(())
}

#[tokio::test]
async fn crd_defaults_are_applied() -> Result<()> {
    let case = Case::begin("define").await?;
    let mut definition = widgets(case.ns(), &object());
    definition["spec"]["names"] = json!({ "kind": "Widget", "plural": "widgets" });
    let name = case.define_as(&definition).await?;
    let spec = case.get(&format!("{CRDS}/{name}")).await?.object()?["spec"].clone();
    assert_snapshot!(json!([spec["names"], spec["conversion"], spec["preserveUnknownFields"]]), @r#"[{"kind":"Widget","listKind":"WidgetList","plural":"widgets","singular":"widget"},{"strategy":"None"},null]"#);
    Ok(())
}

/// A change of a CRD: JSON pointer and value.
type Change = (&'static str, Value);

/// Responses to CRDs with one change each.
async fn refusals(
    case: &Case,
    changes: Vec<Change>,
    show: fn(&ApiResponse) -> String,
) -> Result<Transcript> {
    let mut transcript = Transcript::default();
    for (pointer, value) in changes {
        let mut definition = widgets(case.ns(), &object());
        if let Some(place) = definition.pointer_mut(pointer) {
            *place = value.clone();
        }
        let answer = case.create_outside(CRDS, &definition).await?;
        let field = pointer.rsplit('/').next().unwrap_or_default();
        transcript.line(format!("{field} {value}"), show(&answer));
    }
    Ok(transcript)
}

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema";

#[tokio::test]
async fn crds_with_invalid_names_are_refused() -> Result<()> {
    let case = Case::begin("define").await?;
    let transcript = refusals(
        &case,
        vec![
            ("/metadata/name", json!("gadgets.example.com")),
            ("/spec/group", json!("nodots")),
            ("/spec/scope", json!("Everywhere")),
            ("/spec/names/kind", json!("")),
            ("/spec/names/plural", json!("Widgets")),
            ("/spec/names/singular", json!("Widget")),
            ("/spec/versions/0/name", json!("1")),
        ],
        ApiResponse::shown,
    )
    .await?;
    assert_snapshot!(transcript, @r#"
    name "gadgets.example.com": 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "gadgets.example.com" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"gadgets.example.com"}
      FieldValueInvalid metadata.name: Invalid value: "gadgets.example.com": must be spec.names.plural+"."+spec.group
    group "nodots": 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid metadata.name: Invalid value: "widgets.NS.test": must be spec.names.plural+"."+spec.group
      FieldValueInvalid spec.group: Invalid value: "nodots": should be a domain with at least one dot
    scope "Everywhere": 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueNotSupported spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"
    kind "": 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueRequired spec.names.kind: Required value
      FieldValueRequired spec.names.listKind: Required value
    plural "Widgets": 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid metadata.name: Invalid value: "widgets.NS.test": must be spec.names.plural+"."+spec.group
      FieldValueInvalid spec.names.plural: Invalid value: "Widgets": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
    singular "Widget": 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid spec.names.singular: Invalid value: "Widget": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
    name "1": 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid spec.version: Invalid value: "1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
      FieldValueInvalid spec.versions[0].name: Invalid value: "1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
    "#);
    Ok(())
}

#[tokio::test]
async fn crd_requires_exactly_one_storage_version() -> Result<()> {
    let case = Case::begin("define").await?;
    let mut transcript = Transcript::default();
    let mut definition = widgets(case.ns(), &object());
    let version = definition["spec"]["versions"][0].take();
    let (mut unstored, mut other) = (version.clone(), version.clone());
    unstored["storage"] = json!(false);
    other["name"] = json!("v2");
    for (label, versions) in
        [("none", json!([])), ("unstored", json!([unstored])), ("both", json!([version, other]))]
    {
        definition["spec"]["versions"] = versions;
        transcript.line(label, case.create_outside(CRDS, &definition).await?.fields());
    }
    assert_snapshot!(transcript, @"
    none: 422 Invalid
      FieldValueInvalid spec.versions
      FieldValueInvalid status.storedVersions
    unstored: 422 Invalid
      FieldValueInvalid spec.versions
      FieldValueInvalid status.storedVersions
    both: 422 Invalid
      FieldValueInvalid spec.versions
      FieldValueInvalid status.storedVersions
    ");
    Ok(())
}

#[tokio::test]
async fn crds_with_non_structural_schemas_are_refused() -> Result<()> {
    let case = Case::begin("define").await?;
    let transcript = refusals(
        &case,
        vec![
            (SCHEMA, json!({})),
            (SCHEMA, json!({ "type": "string" })),
            (SCHEMA, json!({ "type": "object", "properties": { "a": {} } })),
            (SCHEMA, json!({ "type": "object", "properties": { "a": { "type": "array" } } })),
            (SCHEMA, json!({ "type": "object", "properties": { "a": { "type": "nonsense" } } })),
            (SCHEMA, json!({ "type": "object", "properties": {}, "additionalProperties": { "type": "string" } })),
            (SCHEMA, json!({ "type": "object", "anyOf": [{ "properties": { "b": { "type": "string" } } }] })),
            (SCHEMA, json!({ "type": "object", "properties": { "a": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "map" } } })),
            ("/spec/versions/0/schema", Value::Null),
        ],
        ApiResponse::shown,
    )
    .await?;
    assert_snapshot!(transcript, @r#"
    openAPIV3Schema {}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueRequired spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root
    openAPIV3Schema {"type":"string"}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid spec.validation.openAPIV3Schema.type: Invalid value: "string": must be object at the root
    openAPIV3Schema {"properties":{"a":{}},"type":"object"}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueRequired spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields
    openAPIV3Schema {"properties":{"a":{"type":"array"}},"type":"object"}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueRequired spec.validation.openAPIV3Schema.properties[a].items: Required value: must be specified
    openAPIV3Schema {"properties":{"a":{"type":"nonsense"}},"type":"object"}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueNotSupported spec.validation.openAPIV3Schema.properties[a].type: Unsupported value: "nonsense": supported values: "array", "boolean", "integer", "number", "object", "string"
    openAPIV3Schema {"additionalProperties":{"type":"string"},"properties":{},"type":"object"}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueForbidden spec.validation.openAPIV3Schema.additionalProperties: Forbidden: must not be used at the root
    openAPIV3Schema {"anyOf":[{"properties":{"b":{"type":"string"}}}],"type":"object"}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueForbidden spec.validation.openAPIV3Schema.anyOf[0].properties[b].type: Forbidden: must be empty to be structural
      FieldValueRequired spec.validation.openAPIV3Schema.properties[b]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[b]
    openAPIV3Schema {"properties":{"a":{"items":{"type":"string"},"type":"array","x-kubernetes-list-type":"map"}},"type":"object"}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid spec.validation.openAPIV3Schema.properties[a].items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map
      FieldValueRequired spec.validation.openAPIV3Schema.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map
    schema null: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueRequired spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required
    "#);
    Ok(())
}

#[tokio::test]
async fn crds_with_invalid_patterns_and_defaults_are_refused() -> Result<()> {
    let case = Case::begin("define").await?;
    let property = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    let changes = vec![
        (SCHEMA, property(json!({ "type": "string", "pattern": "(" }))),
        (SCHEMA, property(json!({ "type": "integer", "default": "x" }))),
        (SCHEMA, property(json!({ "type": "integer", "maximum": 3, "default": 5 }))),
    ];
    assert_snapshot!(refusals(&case, changes, ApiResponse::fields).await?, @r#"
    openAPIV3Schema {"properties":{"a":{"pattern":"(","type":"string"}},"type":"object"}: 422 Invalid
      FieldValueInvalid spec.validation.openAPIV3Schema.properties[a].pattern
    openAPIV3Schema {"properties":{"a":{"default":"x","type":"integer"}},"type":"object"}: 422 Invalid
      FieldValueTypeInvalid spec.validation.openAPIV3Schema.properties[a].default
    openAPIV3Schema {"properties":{"a":{"default":5,"maximum":3,"type":"integer"}},"type":"object"}: 422 Invalid
      FieldValueInvalid spec.validation.openAPIV3Schema.properties[a].default
    "#);
    Ok(())
}

#[tokio::test]
async fn crd_group_kind_and_scope_are_immutable() -> Result<()> {
    let case = Case::begin("define").await?;
    let name = case.define(&object()).await?;
    let path = format!("{CRDS}/{name}");
    let mut transcript = Transcript::default();
    for patch in [
        json!({ "spec": { "scope": "Cluster" } }),
        json!({ "spec": { "group": "other.test" } }),
        json!({ "spec": { "names": { "kind": "Gadget" } } }),
        json!({ "spec": { "names": { "plural": "gadgets" } } }),
    ] {
        transcript.add(&patch, &case.merge(&path, &patch).await?);
    }
    let no_versions = json!({ "spec": { "versions": [] } });
    transcript.line(&no_versions, case.merge(&path, &no_versions).await?.fields());
    assert_snapshot!(transcript, @r#"
    {"spec":{"scope":"Cluster"}}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid spec.scope: Invalid value: "Cluster": field is immutable
    {"spec":{"group":"other.test"}}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid spec.group: Invalid value: "other.test": field is immutable
    {"spec":{"names":{"kind":"Gadget"}}}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid spec.names.kind: Invalid value: "Gadget": field is immutable
    {"spec":{"names":{"plural":"gadgets"}}}: 422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid spec.names.plural: Invalid value: "gadgets": field is immutable
    {"spec":{"versions":[]}}: 422 Invalid
      FieldValueInvalid spec.versions
      FieldValueInvalid status.storedVersions[0]
    "#);
    Ok(())
}

#[tokio::test]
async fn crd_stored_version_cannot_be_removed() -> Result<()> {
    let case = Case::begin("define").await?;
    let mut definition = widgets(case.ns(), &object());
    let name = case.define_as(&definition).await?;
    let version = &mut definition["spec"]["versions"][0];
    version["name"] = json!("v2");
    let patch = json!({ "spec": { "versions": [version] } });
    assert_snapshot!(case.merge(&format!("{CRDS}/{name}"), &patch).await?.shown(), @r#"
    422 Invalid: CustomResourceDefinition.apiextensions.k8s.io "widgets.NS.test" is invalid: …
      about {"group":"apiextensions.k8s.io","kind":"CustomResourceDefinition","name":"widgets.NS.test"}
      FieldValueInvalid status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions
    "#);
    Ok(())
}

#[tokio::test]
async fn crd_with_conflicting_names_is_not_accepted() -> Result<()> {
    let case = Case::begin("define").await?;
    case.define(&object()).await?;
    let mut other = widgets(case.ns(), &object());
    other["metadata"]["name"] = json!(format!("gadgets.{}.test", case.ns()));
    other["spec"]["names"]["plural"] = json!("gadgets");
    other["spec"]["names"]["listKind"] = json!("Widgets");
    let created = case.create_outside(CRDS, &other).await?.object()?;
    let path = format!("{CRDS}/{}", created["metadata"]["name"].as_str().unwrap_or_default());
    let judged = case
        .until(&path, "a condition about its names", |definition| {
            definition["status"]["conditions"].is_array()
        })
        .await?;
    assert_snapshot!(conditions(&judged), @r#"
    "Established" "False" "NotAccepted" "not all names are accepted"
    "NamesAccepted" "False" "KindConflict" "\"Widget\" is already in use"
    "#);
    Ok(())
}

#[tokio::test]
async fn crd_deletion_deletes_custom_resources() -> Result<()> {
    let case = Case::begin("define").await?;
    let name = case.define(&object()).await?;
    let created = case.create_widget("w", &json!({})).await?.object()?;
    let version = created["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let mut events = case.watch(&format!("{name}?resourceVersion={version}")).await?;
    case.delete(&format!("{CRDS}/{name}")).await?.object()?;
    assert_eq!(events.event().await?["type"], "DELETED");
    case.until_gone(&format!("{CRDS}/{name}")).await?;
    case.until_gone(&name).await?;
    Ok(())
}

#[tokio::test]
async fn custom_resource_with_finalizer_blocks_crd_deletion() -> Result<()> {
    let case = Case::begin("define").await?;
    let name = case.define(&object()).await?;
    let mut widget = case.widget("w", &json!({}));
    widget["metadata"]["finalizers"] = json!(["example.com/wait"]);
    case.create(&name, &widget).await?.object()?;
    let path = format!("{CRDS}/{name}");
    case.delete(&path).await?.object()?;
    case.until(&format!("{name}/w"), "to be deleted", is_deleting).await?;
    let definition = case.get(&path).await?.object()?;
    assert_eq!(
        definition["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    let refused = case.create_widget("new", &json!({})).await?;
    assert_snapshot!(refused.shown(), @r#"
    405 MethodNotAllowed: create not allowed while custom resource definition is terminating
      about {"group":"NS.test","kind":"widgets"}
    "#);
    case.release(&format!("{name}/w")).await?;
    case.until_gone(&path).await
}
