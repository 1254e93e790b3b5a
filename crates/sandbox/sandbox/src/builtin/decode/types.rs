//! Structures and fields of the built-in kinds, from the published `OpenAPI` schemas.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use schemars::SchemaGenerator;
use serde_json::{Map, Value};

use super::presence::{self, Presence};
use crate::builtin::kinds::KINDS;

/// Type of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
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
pub(super) struct Struct {
    pub(super) fields: BTreeMap<String, Field>,
}

/// A field of a structure.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) content: Type,
    pub(super) presence: Presence,
}

static STRUCTS: LazyLock<BTreeMap<Arc<str>, Struct>> = LazyLock::new(structs);

/// The structure with this full name.
pub(super) fn find(name: &str) -> Option<&'static Struct> {
    STRUCTS.get(name)
}

/// The last part of a full name, which the API server's messages use.
pub(super) fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn structs() -> BTreeMap<Arc<str>, Struct> {
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

fn structure(name: &str, schema: &Value, properties: &Map<String, Value>) -> Struct {
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = properties.iter().map(|(field, schema)| {
        let content = content(schema);
        let required = required.contains(&field.as_str());
        let presence = presence::presence(short(name), field, &content, required);
        (field.clone(), Field { content, presence })
    });
    Struct { fields: fields.collect() }
}

fn content(schema: &Value) -> Type {
    if let Some(reference) = schema["$ref"].as_str() {
        return referenced(reference.rsplit('/').next().unwrap_or_default());
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return Type::OneOf(choices.iter().map(content).collect());
    }
    let format = schema["format"].as_str();
    match schema["type"].as_str() {
        Some("string") if format == Some("byte") => Type::Bytes,
        Some("string") => Type::Text,
        Some("integer") if format == Some("int32") => Type::Int32,
        Some("integer") => Type::Int64,
        Some("number") => Type::Float,
        Some("boolean") => Type::Bool,
        Some("array") => Type::List(Box::new(content(&schema["items"]))),
        Some("object") if schema["additionalProperties"].is_object() => {
            let inner = match content(&schema["additionalProperties"]) {
                Type::Quantity => Type::Amount,
                other => other,
            };
            Type::Map(Box::new(inner))
        }
        _ => Type::Any,
    }
}

/// Types with custom JSON encodings, which their schemas do not describe.
fn referenced(name: &str) -> Type {
    match short(name) {
        "Quantity" => Type::Quantity,
        "IntOrString" => Type::IntOrString,
        "Time" => Type::Time,
        "MicroTime" => Type::MicroTime,
        "JSON" | "FieldsV1" | "RawExtension" => Type::Any,
        "JSONSchemaPropsOrBool" => Type::OneOf(vec![schema_props(name), Type::Bool]),
        "JSONSchemaPropsOrArray" => {
            Type::OneOf(vec![schema_props(name), Type::List(Box::new(schema_props(name)))])
        }
        "JSONSchemaPropsOrStringArray" => {
            Type::OneOf(vec![schema_props(name), Type::List(Box::new(Type::Text))])
        }
        _ => Type::Struct(name.into()),
    }
}

/// `JSONSchemaProps` from the package of a union type that contains it.
fn schema_props(union: &str) -> Type {
    let package = union.rsplit_once('.').map_or("", |(package, _)| package);
    Type::Struct(format!("{package}.JSONSchemaProps").into())
}
