//! Validation of structural schemas.

use std::collections::BTreeMap;

use fairway_schema::{children, items, pattern};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::{Value, json};

use crate::field_error::{FieldError, FieldErrorKind};

/// Maximum nesting, at which rules can still be evaluated.
const MAX_DEPTH: usize = 60;
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Position of a schema node, which determines its required fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NodePosition {
    Root,
    Field,
    Item,
}

/// Returns all errors of a schema.
pub(super) fn check_schema(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    check_node(props, NodePosition::Root, path, MAX_DEPTH, errors);
    if has_schema_field(props) {
        errors.push(FieldError::invalid(path, "", "OpenAPIV3Schema 'schema' is not supported"));
    }
    if props.nullable == Some(true) {
        let path = format!("{path}.nullable");
        errors.push(FieldError::forbidden(path, "nullable cannot be true at the root"));
    }
    for (name, position) in nested_schemas(props, path) {
        check_declared(name, &position, props, path, errors);
    }
}

fn has_schema_field(props: &JSONSchemaProps) -> bool {
    props.schema.is_some() || children(props, "").iter().any(|(child, _)| has_schema_field(child))
}

/// Properties in `allOf`, `anyOf`, `oneOf` and `not` at the root must also be declared outside.
fn check_declared(
    nested: &JSONSchemaProps,
    position: &str,
    props: &JSONSchemaProps,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for name in nested.properties.iter().flatten().map(|(name, _)| name) {
        if !props.properties.as_ref().is_some_and(|specified| specified.contains_key(name)) {
            errors.push(FieldError::required(
                format!("{path}.properties[{name}]"),
                format!("because it is defined in {position}.properties[{name}]"),
            ));
        }
    }
    for (nested, position) in nested_schemas(nested, position) {
        check_declared(nested, &position, props, path, errors);
    }
}

fn nested_schemas<'a>(
    props: &'a JSONSchemaProps,
    path: &str,
) -> Vec<(&'a JSONSchemaProps, String)> {
    let lists = [("allOf", &props.all_of), ("anyOf", &props.any_of), ("oneOf", &props.one_of)];
    let lists = lists.into_iter().flat_map(|(name, schemas)| {
        let schemas = schemas.iter().flatten().enumerate();
        schemas.map(move |(index, schema)| (schema, format!("{path}.{name}[{index}]")))
    });
    let not = props.not.as_deref().map(|not| (not, format!("{path}.not")));
    lists.chain(not).collect()
}

fn check_node(
    props: &JSONSchemaProps,
    position: NodePosition,
    path: &str,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    let Some(depth) = depth.checked_sub(1) else {
        errors.push(FieldError::forbidden(path, "the schema is nested too deeply"));
        return;
    };
    check_type(props, position, path, errors);
    check_unsupported(props, position, path, errors);
    check_extensions(props, path, errors);
    check_metadata(props, position, path, errors);
    check_list_type(props, path, errors);
    check_values(props, path, depth, errors);
    for (name, props) in props.properties.iter().flatten() {
        check_node(
            props,
            NodePosition::Field,
            &format!("{path}.properties[{name}]"),
            depth,
            errors,
        );
    }
    if let Some(JSONSchemaPropsOrBool::Schema(others)) = &props.additional_properties {
        check_node(
            others,
            NodePosition::Field,
            &format!("{path}.additionalProperties"),
            depth,
            errors,
        );
    }
    if let Some(items) = items(props) {
        check_node(items, NodePosition::Item, &format!("{path}.items"), depth, errors);
    }
}

fn check_type(
    props: &JSONSchemaProps,
    position: NodePosition,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let path = format!("{path}.type");
    let embedded = props.x_kubernetes_embedded_resource == Some(true);
    let any = props.x_kubernetes_int_or_string == Some(true)
        || props.x_kubernetes_preserve_unknown_fields == Some(true);
    match (props.type_.as_deref().unwrap_or_default(), position) {
        ("object", _) => {}
        (other, _) if embedded => {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(match other {
                "" => FieldError::required(path, why),
                other => FieldError::invalid(path, other, why),
            });
        }
        ("", _) if any => {}
        ("", NodePosition::Root) => {
            errors.push(FieldError::required(path, "must not be empty at the root"));
        }
        ("", NodePosition::Item) => {
            let why = "must not be empty for specified array items";
            errors.push(FieldError::required(path, why));
        }
        ("", NodePosition::Field) => {
            let why = "must not be empty for specified object fields";
            errors.push(FieldError::required(path, why));
        }
        ("null", _) => {
            let why = "type cannot be set to null, use nullable as an alternative";
            errors.push(FieldError::forbidden(path, why));
        }
        (other, _) if !TYPES.contains(&other) => {
            errors.push(FieldError::not_supported(path, other, &TYPES.map(Value::from)));
        }
        (other, NodePosition::Root) => {
            errors.push(FieldError::invalid(path, other, "must be object at the root"));
        }
        _ => {}
    }
}

/// Refuses unsupported fields.
fn check_unsupported(
    props: &JSONSchemaProps,
    position: NodePosition,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for (name, used) in [
        ("$ref", props.ref_path.is_some()),
        ("id", props.id.is_some()),
        ("definitions", props.definitions.as_ref().is_some_and(|it| !it.is_empty())),
        ("dependencies", props.dependencies.as_ref().is_some_and(|it| !it.is_empty())),
        ("patternProperties", props.pattern_properties.as_ref().is_some_and(|it| !it.is_empty())),
        ("additionalItems", props.additional_items.is_some()),
    ] {
        if used {
            errors.push(FieldError::forbidden(
                format!("{path}.{name}"),
                format!("{name} is not supported"),
            ));
        }
    }
    let mut forbid = |name: &str, why: &str| {
        errors.push(FieldError::forbidden(format!("{path}.{name}"), why));
    };
    if props.unique_items == Some(true) {
        forbid(
            "uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        );
    }
    let has_properties = props.properties.as_ref().is_some_and(|it| !it.is_empty());
    match &props.additional_properties {
        Some(_) if position == NodePosition::Root => {
            forbid("additionalProperties", "must not be used at the root");
        }
        Some(_) if has_properties => forbid(
            "additionalProperties",
            "additionalProperties and properties are mutual exclusive",
        ),
        _ => {}
    }
    match (&props.items, props.type_.as_deref()) {
        (Some(JSONSchemaPropsOrArray::Schemas(_)), _) => {
            forbid("items", "items must be a schema object and not an array");
        }
        (None, Some("array")) => {
            errors.push(FieldError::required(format!("{path}.items"), "must be specified"));
        }
        _ => {}
    }
}

fn check_extensions(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    let mut invalid = |name: &str, value: bool, why: &str| {
        errors.push(FieldError::invalid(format!("{path}.{name}"), value, why));
    };
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if props.x_kubernetes_preserve_unknown_fields == Some(false) {
        invalid(preserve, false, "must be true or undefined");
    }
    if props.x_kubernetes_int_or_string == Some(true) {
        let why = "must be false if x-kubernetes-int-or-string is true";
        if props.x_kubernetes_preserve_unknown_fields == Some(true) {
            invalid(preserve, true, why);
        }
        if props.x_kubernetes_embedded_resource == Some(true) {
            invalid("x-kubernetes-embedded-resource", true, why);
        }
    }
    let embedded = props.x_kubernetes_embedded_resource == Some(true);
    let open = props.x_kubernetes_preserve_unknown_fields == Some(true);
    if embedded && !open && props.properties.as_ref().is_none_or(BTreeMap::is_empty) {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
            x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(format!("{path}.properties"), why));
    }
}

/// Validates type and metadata fields. Schemas may constrain only `name` and `generateName`.
fn check_metadata(
    props: &JSONSchemaProps,
    position: NodePosition,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let is_resource =
        position == NodePosition::Root || props.x_kubernetes_embedded_resource == Some(true);
    let Some(properties) = props.properties.as_ref().filter(|_| is_resource) else { return };
    for (name, wanted) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let Some(field) = properties.get(name) else { continue };
        let actual = field.type_.as_deref().unwrap_or_default();
        if actual != wanted {
            errors.push(FieldError::invalid(
                format!("{path}.properties[{name}].type"),
                actual,
                format!("must be {wanted}"),
            ));
        }
    }
    let restricts_more = |metadata: &JSONSchemaProps| {
        let mut fields = metadata.properties.iter().flatten().map(|(name, _)| name.as_str());
        !fields.all(|name| ["name", "generateName"].contains(&name))
    };
    if position == NodePosition::Root && properties.get("metadata").is_some_and(restricts_more) {
        errors.push(FieldError::forbidden(
            format!("{path}.properties[metadata]"),
            "must not specify anything other than name and generateName, but metadata is \
             implicitly specified",
        ));
    }
}

/// Validates value constraints of a node, including nested ones.
fn check_values(props: &JSONSchemaProps, path: &str, depth: usize, errors: &mut Vec<FieldError>) {
    if let Some(text) = props.pattern.as_deref()
        && let Err(error) = pattern::check(text)
    {
        errors.push(FieldError::invalid(
            format!("{path}.pattern"),
            text,
            format!("must be a valid regular expression, but isn't: {error}"),
        ));
    }
    if !is_integer_or_string(props.any_of.as_deref()) {
        check_all_nested("anyOf", props.any_of.as_deref(), path, depth, errors);
    }
    check_all_nested("allOf", props.all_of.as_deref(), path, depth, errors);
    check_all_nested("oneOf", props.one_of.as_deref(), path, depth, errors);
    if let Some(not) = &props.not {
        check_nested(not, &format!("{path}.not"), depth, errors);
    }
}

/// Whether it is `anyOf` integer and string, the only use of types in nested schemas.
fn is_integer_or_string(schemas: Option<&[JSONSchemaProps]>) -> bool {
    let only =
        |name: &str| JSONSchemaProps { type_: Some(name.to_owned()), ..JSONSchemaProps::default() };
    schemas.is_some_and(|schemas| *schemas == [only("integer"), only("string")])
}

fn check_all_nested(
    name: &str,
    schemas: Option<&[JSONSchemaProps]>,
    path: &str,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    for (index, schema) in schemas.unwrap_or_default().iter().enumerate() {
        check_nested(schema, &format!("{path}.{name}[{index}]"), depth, errors);
    }
}

/// Validates a nested schema, which may contain only value constraints.
fn check_nested(props: &JSONSchemaProps, path: &str, depth: usize, errors: &mut Vec<FieldError>) {
    let Some(depth) = depth.checked_sub(1) else {
        errors.push(FieldError::forbidden(path, "the schema is nested too deeply"));
        return;
    };
    let undefined = "must be undefined to be structural";
    let (empty, not_true) = ("must be empty to be structural", "must be false to be structural");
    for (name, used, why) in [
        ("type", props.type_.is_some(), empty),
        ("additionalProperties", props.additional_properties.is_some(), undefined),
        ("default", props.default.is_some(), undefined),
        ("title", props.title.is_some(), empty),
        ("description", props.description.is_some(), empty),
        ("nullable", props.nullable == Some(true), not_true),
        (
            "x-kubernetes-preserve-unknown-fields",
            props.x_kubernetes_preserve_unknown_fields == Some(true),
            not_true,
        ),
        (
            "x-kubernetes-embedded-resource",
            props.x_kubernetes_embedded_resource == Some(true),
            not_true,
        ),
        ("x-kubernetes-int-or-string", props.x_kubernetes_int_or_string == Some(true), not_true),
        ("x-kubernetes-list-map-keys", props.x_kubernetes_list_map_keys.is_some(), empty),
        ("x-kubernetes-list-type", props.x_kubernetes_list_type.is_some(), undefined),
        ("x-kubernetes-map-type", props.x_kubernetes_map_type.is_some(), undefined),
        ("x-kubernetes-validations", props.x_kubernetes_validations.is_some(), empty),
    ] {
        if used {
            errors.push(FieldError::forbidden(format!("{path}.{name}"), why));
        }
    }
    check_values(props, path, depth, errors);
    for (name, props) in props.properties.iter().flatten() {
        let path = format!("{path}.properties[{name}]");
        if name == "metadata" {
            let why = "must not be specified in a nested context";
            errors.push(FieldError::forbidden(&path, why));
        }
        check_nested(props, &path, depth, errors);
    }
    if let Some(items) = items(props) {
        check_nested(items, &format!("{path}.items"), depth, errors);
    }
}

/// Validates list and map type of a schema node.
pub(super) fn check_list_type(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
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
            check_set_items(items, &format!("{path}.items"), errors);
        }
        Some(items) if list_type == Some("map") && items.type_.as_deref() != Some("object") => {
            let actual = items.type_.clone().unwrap_or_default();
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(format!("{path}.items.type"), actual, why));
        }
        _ => {}
    }
    check_keys(props, path, errors);
}

/// Validates set items, which must be atomic.
fn check_set_items(items: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
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

fn check_keys(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    let keys = props.x_kubernetes_list_map_keys.as_deref().unwrap_or_default();
    let path_of_keys = format!("{path}.x-kubernetes-list-map-keys");
    match (props.x_kubernetes_list_type.as_deref(), keys) {
        (Some("map"), []) => {
            let why = "must not be empty if x-kubernetes-list-type is map";
            errors.push(FieldError::required(path_of_keys, why));
        }
        (Some("map"), keys) => check_key_fields(props, keys, path, errors),
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

fn check_key_fields(
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
