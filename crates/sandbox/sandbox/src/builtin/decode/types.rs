//! Structures and fields of the built-in kinds, from the published `OpenAPI` schemas.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use schemars::SchemaGenerator;
use serde_json::{Map, Value};

use super::presence::{self, Presence};
use crate::builtin::kinds::KINDS;

/// Type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GoType {
    Text,
    Int32,
    Int64,
    Float,
    Bool,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    /// A quantity in a resource list, rounded to thousandths.
    Amount,
    IntOrString,
    /// Any JSON value.
    Any,
    List(Box<Self>),
    Map(Box<Self>),
    /// A structure, by its full name.
    Struct(Arc<str>),
    /// The first of these types that fits the JSON type of the value.
    OneOf(Vec<Self>),
}

/// The fields of a structure.
#[derive(Debug, Default)]
pub(super) struct GoStruct {
    pub(super) fields: BTreeMap<String, GoField>,
}

/// A field of a structure.
#[derive(Debug)]
pub(super) struct GoField {
    pub(super) content: GoType,
    pub(super) presence: Presence,
}

static STRUCTS: LazyLock<BTreeMap<Arc<str>, GoStruct>> = LazyLock::new(structs);

/// The structure with this full name.
pub(super) fn find(name: &str) -> Option<&'static GoStruct> {
    STRUCTS.get(name)
}

/// The last part of a full name, which the API server's messages use.
pub(super) fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn structs() -> BTreeMap<Arc<str>, GoStruct> {
    let mut generator = SchemaGenerator::default();
    for kind in &KINDS {
        kind.describe(&mut generator);
    }
    let definitions = generator.take_definitions(true);
    let known = definitions.iter().filter_map(|(name, schema)| {
        let properties = schema.get("properties")?.as_object()?;
        Some((name.as_str().into(), structure(name, schema, properties)))
    });
    known.collect()
}

fn structure(name: &str, schema: &Value, properties: &Map<String, Value>) -> GoStruct {
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = properties.iter().map(|(field, schema)| {
        let content = content(schema);
        let required = required.contains(&field.as_str());
        let presence = presence::presence(short(name), field, &content, required);
        (field.clone(), GoField { content, presence })
    });
    GoStruct { fields: fields.collect() }
}

fn content(schema: &Value) -> GoType {
    if let Some(reference) = schema["$ref"].as_str() {
        return referenced(reference.rsplit('/').next().unwrap_or_default());
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return GoType::OneOf(choices.iter().map(content).collect());
    }
    let format = schema["format"].as_str();
    match schema["type"].as_str() {
        Some("string") if format == Some("byte") => GoType::Bytes,
        Some("string") => GoType::Text,
        Some("integer") if format == Some("int32") => GoType::Int32,
        Some("integer") => GoType::Int64,
        Some("number") => GoType::Float,
        Some("boolean") => GoType::Bool,
        Some("array") => GoType::List(Box::new(content(&schema["items"]))),
        Some("object") if schema["additionalProperties"].is_object() => {
            let inner = match content(&schema["additionalProperties"]) {
                GoType::Quantity => GoType::Amount,
                other => other,
            };
            GoType::Map(Box::new(inner))
        }
        _ => GoType::Any,
    }
}

/// Types with custom JSON encodings, which their schemas do not describe.
fn referenced(name: &str) -> GoType {
    match short(name) {
        "Quantity" => GoType::Quantity,
        "IntOrString" => GoType::IntOrString,
        "Time" => GoType::Time,
        "MicroTime" => GoType::MicroTime,
        "JSON" | "FieldsV1" | "RawExtension" => GoType::Any,
        "JSONSchemaPropsOrBool" => GoType::OneOf(vec![schema_props(name), GoType::Bool]),
        "JSONSchemaPropsOrArray" => {
            GoType::OneOf(vec![schema_props(name), GoType::List(Box::new(schema_props(name)))])
        }
        "JSONSchemaPropsOrStringArray" => {
            GoType::OneOf(vec![schema_props(name), GoType::List(Box::new(GoType::Text))])
        }
        _ => GoType::Struct(name.into()),
    }
}

/// `JSONSchemaProps` from the package of a union type that contains it.
fn schema_props(union: &str) -> GoType {
    let package = union.rsplit_once('.').map_or("", |(package, _)| package);
    GoType::Struct(format!("{package}.JSONSchemaProps").into())
}
