//! How the parts of an object merge: what a patch, a server-side apply and the ownership of fields
//! have to know about a type.
//!
//! Built-in kinds have theirs in a table, custom resources in the schema of their definition. Where
//! nothing is known, objects merge field by field and lists are taken whole, as the API server does
//! for what it has to deduce.

mod builtin;
mod definition;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::Value;

/// How one value merges.
#[derive(Clone, Debug, PartialEq)]
pub enum Schema {
    /// A value without parts.
    Scalar,
    /// An object.
    Object(ObjectSchema),
    /// A list.
    List(ListSchema),
    /// Nothing is known: objects merge field by field, lists are taken whole.
    Deduced,
}

/// How an object merges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectSchema {
    /// The fields that are known.
    pub fields: BTreeMap<String, Arc<Schema>>,
    /// What all other fields are; `None` where there are none, or where nothing is known of them.
    pub others: Option<Arc<Schema>>,
    /// Whether server-side apply takes it whole (`x-kubernetes-map-type: atomic`). A strategic merge
    /// patch still merges it, unless it has no parts at all: neither `fields` nor `others`.
    pub atomic: bool,
}

/// How a list merges.
#[derive(Clone, Debug, PartialEq)]
pub struct ListSchema {
    /// What its items are.
    pub items: Arc<Schema>,
    /// What identifies an item.
    pub kind: ListKind,
    /// The field by which a strategic merge patch identifies an item, which is not always what
    /// server-side apply does; [`BY_VALUE`](Self::BY_VALUE) where items are not objects; `None`
    /// where it replaces the list.
    pub patch_key: Option<String>,
}

impl ListSchema {
    /// The patch key of a list whose items are values that identify themselves.
    pub const BY_VALUE: &str = "";
}

impl Schema {
    /// How a custom resource merges whose definition has this schema (`openAPIV3Schema`).
    pub fn of_definition(definition: &JSONSchemaProps) -> Self {
        definition::resource(definition)
    }

    /// How a built-in kind merges; `None` where the table does not know it.
    pub fn builtin(group: &str, kind: &str) -> Option<Self> {
        builtin::find(group, kind)
    }

    /// The built-in kinds that are known, as group and kind.
    pub fn builtin_kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
        table::KINDS.iter().map(|&(group, kind, _)| (group, kind))
    }
}

/// What identifies an item of a list.
#[derive(Clone, Debug, PartialEq)]
pub enum ListKind {
    /// Nothing: the list is taken whole.
    Atomic,
    /// Its value.
    Set,
    /// The values of these fields, each with what a missing one counts as.
    Map(Vec<(String, Option<Value>)>),
}
