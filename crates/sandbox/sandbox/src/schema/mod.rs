//! Merge schemas: the merge rules of a type for patches, server-side apply and field ownership.
//!
//! Built-in kinds have a table, custom resources the schema of their CRD. Without schema, objects
//! merge field by field and lists are atomic, like deduced types in the API server.

mod builtin;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use serde_json::Value;

/// How a value merges.
#[derive(Clone, Debug, PartialEq)]
pub enum Schema {
    /// A value without parts.
    Scalar,
    /// An object.
    Object(ObjectSchema),
    /// A list.
    List(ListSchema),
    /// Unknown: objects merge field by field, lists are atomic.
    Deduced,
}

/// The merge schema of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectSchema {
    /// Declared fields.
    pub fields: BTreeMap<String, Arc<Schema>>,
    /// Schema of all other fields; `None` if there are none, or if they are unknown.
    pub others: Option<Arc<Schema>>,
    /// Whether server-side apply treats it as atomic (`x-kubernetes-map-type: atomic`). A strategic
    /// merge patch still merges it, unless it has neither `fields` nor `others`.
    pub atomic: bool,
}

/// The merge schema of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListSchema {
    /// Schema of the items.
    pub items: Arc<Schema>,
    /// Identity of the items for server-side apply.
    pub kind: ListKind,
    /// Key field for strategic merge patches, which may differ from server-side apply;
    /// [`BY_VALUE`](Self::BY_VALUE) if items are identified by value; `None` if the list is
    /// replaced.
    pub patch_key: Option<String>,
}

impl ListSchema {
    /// Patch key of lists whose items are identified by value.
    pub const BY_VALUE: &str = "";
}

impl Schema {
    /// The schema of a custom resource, from its `openAPIV3Schema`.
    pub fn from_crd(schema: &JSONSchemaProps) -> Self {
        resource_schema(schema)
    }

    /// The schema of a built-in kind, if it is known.
    pub fn builtin(group: &str, kind: &str) -> Option<Self> {
        builtin::find(group, kind)
    }

    /// All known built-in kinds, as group and kind.
    pub fn builtin_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
        table::KINDS.iter().map(|&(group, kind, _)| (group, kind))
    }
}

/// Identity of list items.
#[derive(Clone, Debug, PartialEq)]
pub enum ListKind {
    /// No identity: the list is atomic.
    Atomic,
    /// The value of the item.
    Set,
    /// Key fields with their defaults.
    Map(Vec<(String, Option<Value>)>),
}

/// Maximum nesting. Deeper values merge without schema.
const MAX_DEPTH: usize = 100;

/// The schema of a resource, with the standard type and metadata fields.
fn resource_schema(crd_schema: &JSONSchemaProps) -> Schema {
    let mut object = object(crd_schema, MAX_DEPTH);
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
        // Structural schemas have one schema for all items.
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

fn keys(props: &JSONSchemaProps, items: Option<&JSONSchemaProps>) -> Vec<(String, Option<Value>)> {
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
