//! How a custom resource merges, from the schema of its definition.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use super::{ListKind, ListSchema, ObjectSchema, Schema, builtin};

/// Deeper than any real definition; what lies below merges as if nothing were known of it.
const MAX_DEPTH: usize = 100;

/// A whole object: what every resource has is known, whatever its definition says of it.
pub(super) fn resource(definition: &JSONSchemaProps) -> Schema {
    let mut object = object(definition, MAX_DEPTH);
    add_type_and_metadata(&mut object.fields);
    Schema::Object(object)
}

fn value(props: &JSONSchemaProps, depth: usize) -> Schema {
    let Some(depth) = depth.checked_sub(1) else { return Schema::Deduced };
    if props.x_kubernetes_int_or_string == Some(true) {
        return Schema::Scalar;
    }
    let embedded = props.x_kubernetes_embedded_resource == Some(true);
    match props.type_.as_deref() {
        Some("array") => Schema::List(list(props, depth)),
        Some("object") if embedded => {
            let mut object = object(props, depth);
            add_type_and_metadata(&mut object.fields);
            Schema::Object(object)
        }
        Some("object") => Schema::Object(object(props, depth)),
        Some(_) => Schema::Scalar,
        None => Schema::Deduced,
    }
}

fn object(props: &JSONSchemaProps, depth: usize) -> ObjectSchema {
    let properties = props.properties.iter().flatten();
    let fields = properties.map(|(name, props)| (name.clone(), Arc::new(value(props, depth))));
    ObjectSchema {
        fields: fields.collect(),
        others: others(props, depth).map(Arc::new),
        atomic: props.x_kubernetes_map_type.as_deref() == Some("atomic"),
    }
}

fn others(props: &JSONSchemaProps, depth: usize) -> Option<Schema> {
    match &props.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(others)) => Some(value(others, depth)),
        Some(JSONSchemaPropsOrBool::Bool(true)) => Some(Schema::Deduced),
        _ if props.x_kubernetes_preserve_unknown_fields == Some(true) => Some(Schema::Deduced),
        _ => None,
    }
}

fn list(props: &JSONSchemaProps, depth: usize) -> ListSchema {
    let items = match &props.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => Some(items.as_ref()),
        // A structural schema has one schema for all items.
        Some(JSONSchemaPropsOrArray::Schemas(_)) | None => None,
    };
    let kind = match props.x_kubernetes_list_type.as_deref() {
        Some("set") => ListKind::Set,
        Some("map") => ListKind::Map(keys(props, items)),
        _ => ListKind::Atomic,
    };
    let items = Arc::new(items.map_or(Schema::Deduced, |items| value(items, depth)));
    ListSchema { items, kind, patch_key: None }
}

fn keys(
    props: &JSONSchemaProps,
    items: Option<&JSONSchemaProps>,
) -> Vec<(String, Option<serde_json::Value>)> {
    let default_of = |key: &str| {
        let field = items?.properties.as_ref()?.get(key)?;
        field.default.as_ref().map(|default| default.0.clone())
    };
    let keys = props.x_kubernetes_list_map_keys.iter().flatten();
    keys.map(|key| (key.clone(), default_of(key))).collect()
}

fn add_type_and_metadata(fields: &mut BTreeMap<String, Arc<Schema>>) {
    fields.insert("apiVersion".to_owned(), Arc::new(Schema::Scalar));
    fields.insert("kind".to_owned(), Arc::new(Schema::Scalar));
    fields.insert("metadata".to_owned(), builtin::object_meta());
}
