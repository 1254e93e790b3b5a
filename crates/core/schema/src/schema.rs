//! Compiled schemas.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use regex::Regex;
use serde_json::Value;

use crate::format::Format;
use crate::pattern;

/// A node of a schema, or of a nested value validation.
#[derive(Debug, Default)]
pub struct Schema {
    /// Allowed types; empty allows all.
    pub(crate) types: Vec<String>,
    pub(crate) nullable: bool,
    pub(crate) preserve: bool,
    pub(crate) embedded: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<String, Self>,
    pub(crate) others: Option<AdditionalProperties>,
    pub(crate) items: Option<Box<Self>>,
    pub(crate) list: ListKind,
    pub(crate) required: Vec<String>,
    pub(crate) enum_values: Vec<Value>,
    pub(crate) limits: Limits,
    pub(crate) pattern: Option<(String, Regex)>,
    pub(crate) format: Option<Format>,
    pub(crate) all_of: Vec<Self>,
    pub(crate) any_of: Vec<Self>,
    pub(crate) one_of: Vec<Self>,
    pub(crate) not: Option<Box<Self>>,
}

/// `additionalProperties` of a schema.
#[derive(Debug)]
pub(crate) enum AdditionalProperties {
    /// `true`: any value.
    Any,
    /// `false`: not allowed. They are not pruned either, so that validation rejects the object.
    Forbidden,
    /// All have this schema.
    Like(Box<Schema>),
}

/// Type of a list.
#[derive(Debug, Default)]
pub enum ListKind {
    /// Items have no identity.
    #[default]
    Atomic,
    /// Items are identified by value.
    Set,
    /// Items are identified by these fields.
    Map(Vec<String>),
}

/// Limits of numbers, lengths and counts.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) exclusive_maximum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) max_properties: Option<i64>,
}

impl Schema {
    /// Compiles a schema, which is validated elsewhere.
    pub fn new(props: &JSONSchemaProps) -> Self {
        let int_or_string = props.x_kubernetes_int_or_string == Some(true);
        let list_of = |schemas: &Option<Vec<JSONSchemaProps>>| {
            schemas.iter().flatten().map(Self::new).collect::<Vec<_>>()
        };
        let properties = props.properties.iter().flatten();
        Self {
            types: match &props.type_ {
                _ if int_or_string => vec!["integer".to_owned(), "string".to_owned()],
                Some(name) if !name.is_empty() => vec![name.clone()],
                _ => Vec::new(),
            },
            nullable: props.nullable == Some(true),
            preserve: props.x_kubernetes_preserve_unknown_fields == Some(true),
            embedded: props.x_kubernetes_embedded_resource == Some(true),
            default: props.default.as_ref().map(|default| default.0.clone()),
            properties: properties.map(|(name, props)| (name.clone(), Self::new(props))).collect(),
            others: match &props.additional_properties {
                Some(JSONSchemaPropsOrBool::Schema(like)) => {
                    Some(AdditionalProperties::Like(Box::new(Self::new(like))))
                }
                Some(JSONSchemaPropsOrBool::Bool(true)) => Some(AdditionalProperties::Any),
                Some(JSONSchemaPropsOrBool::Bool(false)) => Some(AdditionalProperties::Forbidden),
                None => None,
            },
            items: items(props).map(|items| Box::new(Self::new(items))),
            list: match props.x_kubernetes_list_type.as_deref() {
                Some("set") => ListKind::Set,
                Some("map") => {
                    ListKind::Map(props.x_kubernetes_list_map_keys.clone().unwrap_or_default())
                }
                _ => ListKind::Atomic,
            },
            required: props.required.clone().unwrap_or_default(),
            enum_values: props.enum_.iter().flatten().map(|value| value.0.clone()).collect(),
            limits: Limits::new(props),
            pattern: props.pattern.as_ref().filter(|text| !text.is_empty()).and_then(|text| {
                pattern::compile(text).ok().map(|pattern| (text.clone(), pattern))
            }),
            format: props.format.as_deref().and_then(Format::named),
            all_of: list_of(&props.all_of),
            any_of: list_of(&props.any_of),
            one_of: list_of(&props.one_of),
            not: props.not.as_ref().map(|not| Box::new(Self::new(not))),
        }
    }

    /// The schema of a field; `None` if the field is unknown or not restricted.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or(match &self.others {
            Some(AdditionalProperties::Like(like)) => Some(like),
            Some(AdditionalProperties::Any | AdditionalProperties::Forbidden) | None => None,
        })
    }

    /// The schema of list items.
    pub fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// The type of the list.
    pub fn list(&self) -> &ListKind {
        &self.list
    }
}

impl Limits {
    fn new(props: &JSONSchemaProps) -> Self {
        Self {
            minimum: props.minimum,
            maximum: props.maximum,
            exclusive_minimum: props.exclusive_minimum == Some(true),
            exclusive_maximum: props.exclusive_maximum == Some(true),
            multiple_of: props.multiple_of,
            min_length: props.min_length,
            max_length: props.max_length,
            min_items: props.min_items,
            max_items: props.max_items,
            min_properties: props.min_properties,
            max_properties: props.max_properties,
        }
    }
}

/// The schema of list items; structural schemas have a single one.
pub fn items(props: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match &props.items {
        Some(JSONSchemaPropsOrArray::Schema(items)) => Some(items),
        Some(JSONSchemaPropsOrArray::Schemas(_)) | None => None,
    }
}

/// The schemas of fields and items directly below a schema, with their paths.
pub fn children<'a>(props: &'a JSONSchemaProps, path: &str) -> Vec<(&'a JSONSchemaProps, String)> {
    let fields = props.properties.iter().flatten();
    let fields = fields.map(|(name, props)| (props, format!("{path}.properties[{name}]")));
    let others = match &props.additional_properties {
        Some(JSONSchemaPropsOrBool::Schema(others)) => Some(others.as_ref()),
        Some(JSONSchemaPropsOrBool::Bool(_)) | None => None,
    };
    let others = others.map(|others| (others, format!("{path}.additionalProperties")));
    let items = items(props).map(|items| (items, format!("{path}.items")));
    fields.chain(others).chain(items).collect()
}
