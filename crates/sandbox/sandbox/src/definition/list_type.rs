//! Whether a schema's lists can be what it says they are.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::{Value, json};

use crate::field_error::{FieldError, FieldErrorKind};
use fairway_schema::items;

/// Checks the list and map type of one node.
pub(super) fn check(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(other) = props.x_kubernetes_map_type.as_deref()
        && !["granular", "atomic"].contains(&other)
    {
        let supported = ["granular", "atomic"].map(Value::from);
        let path = format!("{path}.x-kubernetes-map-type");
        errors.push(FieldError::not_supported(path, other, &supported));
    }
    let type_ = props.type_.as_deref().unwrap_or_default();
    if props.x_kubernetes_map_type.is_some() && type_ != "object" {
        let why = "must be object if x-kubernetes-map-type is specified";
        errors.push(FieldError::invalid(format!("{path}.type"), type_, why));
    }
    let list_type = props.x_kubernetes_list_type.as_deref();
    match list_type {
        None | Some("atomic" | "set" | "map") => {}
        Some(other) => {
            let supported = ["atomic", "map", "set"].map(Value::from);
            let path = format!("{path}.x-kubernetes-list-type");
            errors.push(FieldError::not_supported(path, other, &supported));
        }
    }
    if list_type.is_some() && type_ != "array" {
        let why = "must be array if x-kubernetes-list-type is specified";
        errors.push(FieldError::invalid(format!("{path}.type"), type_, why));
    }
    match items(props) {
        Some(items) if list_type == Some("set") => {
            items_of_a_set(items, &format!("{path}.items"), errors);
        }
        Some(items) if list_type == Some("map") && items.type_.as_deref() != Some("object") => {
            let actual = items.type_.clone().unwrap_or_default();
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(format!("{path}.items.type"), actual, why));
        }
        _ => {}
    }
    keys(props, path, errors);
}

/// Only what is replaced as a whole can be compared as a whole.
fn items_of_a_set(items: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    if items.nullable == Some(true) {
        let why = "cannot be nullable when x-kubernetes-list-type is set";
        errors.push(FieldError::forbidden(format!("{path}.nullable"), why));
    }
    let map_type = items.x_kubernetes_map_type.as_deref();
    if items.type_.as_deref() == Some("object") && map_type != Some("atomic") {
        errors.push(FieldError::of(
            FieldErrorKind::Invalid,
            format!("{path}.x-kubernetes-map-type"),
            json!(map_type),
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        ));
    }
    let list_type = items.x_kubernetes_list_type.as_deref();
    if items.type_.as_deref() == Some("array") && list_type.is_some_and(|it| it != "atomic") {
        errors.push(FieldError::of(
            FieldErrorKind::Invalid,
            format!("{path}.x-kubernetes-list-type"),
            json!(list_type),
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        ));
    }
}

fn keys(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    let keys = props.x_kubernetes_list_map_keys.as_deref().unwrap_or_default();
    let path_of_keys = format!("{path}.x-kubernetes-list-map-keys");
    match (props.x_kubernetes_list_type.as_deref(), keys) {
        (Some("map"), []) => {
            let why = "must not be empty if x-kubernetes-list-type is map";
            errors.push(FieldError::required(path_of_keys, why));
        }
        (Some("map"), keys) => keys_are_fields(props, keys, path, errors),
        (_, []) => {}
        (_, _) => {
            let path = format!("{path}.x-kubernetes-list-type");
            let why = "must be map if x-kubernetes-list-map-keys is non-empty";
            errors.push(FieldError::of(
                FieldErrorKind::Invalid,
                path,
                json!(props.x_kubernetes_list_type),
                why,
            ));
        }
    }
}

fn keys_are_fields(
    props: &JSONSchemaProps,
    keys: &[String],
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let is_object = |items: &&JSONSchemaProps| items.type_.as_deref() == Some("object");
    let Some(items) = items(props).filter(is_object) else { return };
    let path_of_keys = format!("{path}.x-kubernetes-list-map-keys");
    for (index, key) in keys.iter().enumerate() {
        if keys[..index].contains(key) {
            errors.push(FieldError::duplicate(format!("{path_of_keys}[{index}]"), key.as_str()));
        }
        let Some(field) = items.properties.as_ref().and_then(|fields| fields.get(key)) else {
            let why = "entries must all be names of item properties";
            errors.push(FieldError::invalid(format!("{path_of_keys}[{index}]"), key.as_str(), why));
            continue;
        };
        let field_path = format!("{path}.items.properties[{key}]");
        if matches!(field.type_.as_deref(), Some("array" | "object")) {
            let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(
                format!("{field_path}.type"),
                field.type_.clone().unwrap_or_default(),
                why,
            ));
        }
        if field.nullable == Some(true) {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(format!("{field_path}.nullable"), why));
        }
        if field.default.is_none() && !items.required.iter().flatten().any(|name| name == key) {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default \
                or be a required property";
            errors.push(FieldError::required(format!("{field_path}.default"), why));
        }
    }
}
