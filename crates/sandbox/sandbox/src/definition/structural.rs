//! Whether a schema is one that an object can be pruned, defaulted and validated by.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

use fairway_schema::{children, items, pattern};

use super::list_type;
use crate::field_error::FieldError;

/// As deep as rules can be evaluated; no real schema comes near.
const MAX_DEPTH: usize = 60;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Where in a schema a node stands: what may be left out depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Field,
    Item,
}

/// Finds everything that is wrong with a schema.
pub(super) fn check(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    node(props, Place::Root, path, MAX_DEPTH, errors);
    if names_its_schema(props) {
        errors.push(FieldError::invalid(path, "", "OpenAPIV3Schema 'schema' is not supported"));
    }
    if props.nullable == Some(true) {
        let path = format!("{path}.nullable");
        errors.push(FieldError::forbidden(path, "nullable cannot be true at the root"));
    }
    for (name, place) in parts_by_logic(props, path) {
        complete(name, &place, props, path, errors);
    }
}

fn names_its_schema(props: &JSONSchemaProps) -> bool {
    props.schema.is_some() || children(props, "").iter().any(|(child, _)| names_its_schema(child))
}

/// Of what logic at the root speaks has to be specified outside of it.
fn complete(
    nested: &JSONSchemaProps,
    place: &str,
    props: &JSONSchemaProps,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for name in nested.properties.iter().flatten().map(|(name, _)| name) {
        if !props.properties.as_ref().is_some_and(|specified| specified.contains_key(name)) {
            errors.push(FieldError::required(
                format!("{path}.properties[{name}]"),
                format!("because it is defined in {place}.properties[{name}]"),
            ));
        }
    }
    for (nested, place) in parts_by_logic(nested, place) {
        complete(nested, &place, props, path, errors);
    }
}

fn parts_by_logic<'a>(
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

fn node(
    props: &JSONSchemaProps,
    place: Place,
    path: &str,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    let Some(depth) = depth.checked_sub(1) else {
        errors.push(FieldError::forbidden(path, "the schema is nested too deeply"));
        return;
    };
    type_is_given(props, place, path, errors);
    forbidden(props, place, path, errors);
    extensions(props, path, errors);
    metadata(props, place, path, errors);
    list_type::check(props, path, errors);
    values(props, path, depth, errors);
    for (name, props) in props.properties.iter().flatten() {
        node(props, Place::Field, &format!("{path}.properties[{name}]"), depth, errors);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(others)) = &props.additional_properties {
        node(others, Place::Field, &format!("{path}.additionalProperties"), depth, errors);
    }
    if let Some(items) = items(props) {
        node(items, Place::Item, &format!("{path}.items"), depth, errors);
    }
}

fn type_is_given(props: &JSONSchemaProps, place: Place, path: &str, errors: &mut Vec<FieldError>) {
    let path = format!("{path}.type");
    let embedded = props.x_kubernetes_embedded_resource == Some(true);
    let any = props.x_kubernetes_int_or_string == Some(true)
        || props.x_kubernetes_preserve_unknown_fields == Some(true);
    match (props.type_.as_deref().unwrap_or_default(), place) {
        ("object", _) => {}
        (other, _) if embedded => {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(match other {
                "" => FieldError::required(path, why),
                other => FieldError::invalid(path, other, why),
            });
        }
        ("", _) if any => {}
        ("", Place::Root) => {
            errors.push(FieldError::required(path, "must not be empty at the root"));
        }
        ("", Place::Item) => {
            let why = "must not be empty for specified array items";
            errors.push(FieldError::required(path, why));
        }
        ("", Place::Field) => {
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
        (other, Place::Root) => {
            errors.push(FieldError::invalid(path, other, "must be object at the root"));
        }
        _ => {}
    }
}

/// What no definition may use, at the root or anywhere.
fn forbidden(props: &JSONSchemaProps, place: Place, path: &str, errors: &mut Vec<FieldError>) {
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
        Some(_) if place == Place::Root => {
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

fn extensions(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
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

/// What every resource has is given; a definition may restrict its names, and nothing else.
fn metadata(props: &JSONSchemaProps, place: Place, path: &str, errors: &mut Vec<FieldError>) {
    let is_resource = place == Place::Root || props.x_kubernetes_embedded_resource == Some(true);
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
    if place == Place::Root && properties.get("metadata").is_some_and(restricts_more) {
        errors.push(FieldError::forbidden(
            format!("{path}.properties[metadata]"),
            "must not specify anything other than name and generateName, but metadata is \
             implicitly specified",
        ));
    }
}

/// The value validations of a node, and those nested in it by logic.
fn values(props: &JSONSchemaProps, path: &str, depth: usize, errors: &mut Vec<FieldError>) {
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
        all_nested("anyOf", props.any_of.as_deref(), path, depth, errors);
    }
    all_nested("allOf", props.all_of.as_deref(), path, depth, errors);
    all_nested("oneOf", props.one_of.as_deref(), path, depth, errors);
    if let Some(not) = &props.not {
        nested(not, &format!("{path}.not"), depth, errors);
    }
}

/// The one way to speak of types inside of logic: "an integer or a string", in this order.
fn is_integer_or_string(schemas: Option<&[JSONSchemaProps]>) -> bool {
    let only =
        |name: &str| JSONSchemaProps { type_: Some(name.to_owned()), ..JSONSchemaProps::default() };
    schemas.is_some_and(|schemas| *schemas == [only("integer"), only("string")])
}

fn all_nested(
    name: &str,
    schemas: Option<&[JSONSchemaProps]>,
    path: &str,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    for (index, schema) in schemas.unwrap_or_default().iter().enumerate() {
        nested(schema, &format!("{path}.{name}[{index}]"), depth, errors);
    }
}

/// Inside of logic only values are validated: nothing there may say what a field is.
fn nested(props: &JSONSchemaProps, path: &str, depth: usize, errors: &mut Vec<FieldError>) {
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
    values(props, path, depth, errors);
    for (name, props) in props.properties.iter().flatten() {
        let path = format!("{path}.properties[{name}]");
        if name == "metadata" {
            let why = "must not be specified in a nested context";
            errors.push(FieldError::forbidden(&path, why));
        }
        nested(props, &path, depth, errors);
    }
    if let Some(items) = items(props) {
        nested(items, &format!("{path}.items"), depth, errors);
    }
}
