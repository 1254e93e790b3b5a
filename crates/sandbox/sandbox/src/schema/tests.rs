use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::{Value, json};

use super::{ListKind, ListSchema, ObjectSchema, Schema};

fn of(definition: Value) -> Schema {
    let definition: JSONSchemaProps = serde_json::from_value(definition).unwrap();
    Schema::from_crd(&definition)
}

/// The schema at a path: `[]` for list items, `*` for other fields.
fn at<'s>(schema: &'s Schema, path: &str) -> &'s Schema {
    path.split('.').fold(schema, |schema, part| match (schema, part) {
        (Schema::List(list), "[]") => &list.items,
        (Schema::Object(object), "*") => object.others.as_ref().unwrap(),
        (Schema::Object(object), field) => &object.fields[field],
        _ => panic!("{path}: there is no {part} in {schema:?}"),
    })
}

fn list<'s>(schema: &'s Schema, path: &str) -> &'s ListSchema {
    let Schema::List(list) = at(schema, path) else { panic!("{path} is no list") };
    list
}

fn object<'s>(schema: &'s Schema, path: &str) -> &'s ObjectSchema {
    let Schema::Object(object) = at(schema, path) else { panic!("{path} is no object") };
    object
}

fn keys(keys: &[(&str, Option<Value>)]) -> ListKind {
    ListKind::Map(keys.iter().map(|(key, default)| ((*key).to_owned(), default.clone())).collect())
}

#[test]
fn crd_schema_defines_merge() {
    let schema = of(json!({ "type": "object", "properties": {
        "metadata": { "type": "object", "properties": { "name": { "type": "string" } } },
        "spec": { "type": "object", "properties": {
            "text": { "type": "string" },
            "port": { "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "anything": { "x-kubernetes-preserve-unknown-fields": true },
            "open": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "known": { "type": "string" } } },
            "map": { "type": "object", "additionalProperties": { "type": "array", "items": { "type": "string" } } },
            "free": { "type": "object", "additionalProperties": true },
            "closed": { "type": "object", "additionalProperties": false },
            "whole": { "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": { "type": "string" } },
            "plain": { "type": "array", "items": { "type": "object" } },
            "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
            "keyed": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "protocol"],
                "items": { "type": "object", "properties": { "name": { "type": "string" }, "protocol": { "type": "string", "default": "TCP" } } },
            },
            "embedded": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
        } },
    } }));

    assert_eq!(at(&schema, "kind"), &Schema::Scalar);
    assert_eq!(list(&schema, "metadata.finalizers").kind, ListKind::Set);
    assert_eq!(list(&schema, "metadata.ownerReferences").kind, keys(&[("uid", None)]));
    assert_eq!(at(&schema, "spec.text"), &Schema::Scalar);
    assert_eq!(at(&schema, "spec.port"), &Schema::Scalar);
    assert_eq!(at(&schema, "spec.anything"), &Schema::Deduced);
    assert_eq!(at(&schema, "spec.open.known"), &Schema::Scalar);
    assert_eq!(at(&schema, "spec.open.*"), &Schema::Deduced);
    assert_eq!(list(&schema, "spec.map.*").kind, ListKind::Atomic);
    assert_eq!(at(&schema, "spec.free.*"), &Schema::Deduced);
    assert_eq!(object(&schema, "spec.closed").others, None);
    assert!(object(&schema, "spec.whole").atomic);
    assert!(!object(&schema, "spec").atomic);
    assert_eq!(list(&schema, "spec.plain").kind, ListKind::Atomic);
    assert_eq!(list(&schema, "spec.set").kind, ListKind::Set);
    let expected = keys(&[("name", None), ("protocol", Some(json!("TCP")))]);
    assert_eq!(list(&schema, "spec.keyed").kind, expected);
    assert_eq!(list(&schema, "spec.keyed").patch_key, None);
    assert_eq!(at(&schema, "spec.keyed.[].name"), &Schema::Scalar);
    assert_eq!(list(&schema, "spec.embedded.metadata.finalizers").kind, ListKind::Set);
}

#[test]
fn crd_schema_beyond_maximum_depth_is_deduced() {
    let leaf = JSONSchemaProps { type_: Some("string".into()), ..Default::default() };
    let deep = (0..1000).fold(leaf, |inner, _| JSONSchemaProps {
        type_: Some("object".into()),
        properties: Some([("x".to_owned(), inner)].into()),
        ..Default::default()
    });
    let mut schema = &Schema::from_crd(&deep);
    let mut depth = 0;
    while let Schema::Object(object) = schema {
        schema = &object.fields["x"];
        depth += 1;
    }
    assert_eq!((schema, depth), (&Schema::Deduced, 101));
}

#[test]
fn schema_from_cluster_operator_crd_has_list_keys() {
    let crds = fairway_api::crds::all();
    let operator = crds.iter().find(|crd| crd.spec.names.kind == "ClusterOperator").unwrap();
    let validation = operator.spec.versions[0].schema.clone().unwrap();
    let schema = Schema::from_crd(&validation.open_api_v3_schema.unwrap());
    assert_eq!(list(&schema, "status.conditions").kind, keys(&[("type", None)]));
}

#[test]
fn builtin_kinds_have_metadata_and_rules() {
    for (group, kind) in Schema::builtin_kinds() {
        let schema = Schema::builtin(group, kind).unwrap();
        let finalizers = list(&schema, "metadata.finalizers");
        assert_eq!(finalizers.patch_key.as_deref(), Some(ListSchema::BY_VALUE), "{group}/{kind}");
    }
    assert_eq!(Schema::builtin("example.com", "Deployment"), None);
    assert_eq!(Schema::builtin("apps", "Whale"), None);

    let deployment = Schema::builtin("apps", "Deployment").unwrap();
    let ports = list(&deployment, "spec.template.spec.containers.[].ports");
    assert_eq!(ports.patch_key.as_deref(), Some("containerPort"));
    assert_eq!(ports.kind, keys(&[("containerPort", None), ("protocol", Some(json!("TCP")))]));
    assert!(object(&deployment, "spec.selector").atomic);
    assert_eq!(at(&deployment, "spec.*"), &Schema::Deduced);
}
