//! The representations of objects that `kubectl` asks for: tables, and metadata alone.

mod age;
mod builtin;
mod cells;
mod custom;
mod json_path;
mod subject;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::catalog::Resource;
use subject::Subject;
pub(crate) use subject::selector_text;

pub use age::{age, human_duration};
pub use json_path::{JsonPath, JsonPathError};

/// The version of all of these representations.
const API_VERSION: &str = "meta.k8s.io/v1";

/// Objects as rows of cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    kind: &'static str,
    api_version: &'static str,
    /// The metadata of the list.
    pub metadata: Value,
    /// What the cells mean.
    pub column_definitions: Vec<Column>,
    /// One for each object.
    pub rows: Vec<Row>,
}

/// What one cell of each row means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// The type of the cells, by the words of a schema.
    #[serde(rename = "type")]
    pub type_: String,
    /// What is more to know of the type; `name` for the column that names the object.
    pub format: String,
    /// What it tells.
    pub description: String,
    /// 0 for what is always shown, more for what is shown on demand.
    pub priority: i32,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// One for each column.
    pub cells: Vec<Value>,
    /// What clients may want to know of the object without its content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Value>,
    /// As much of the object as was asked for.
    pub object: Value,
}

/// How much of its object a row carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl IncludeObject {
    /// Reads the parameter `includeObject`; `None` where it has no meaning.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "None" => Some(Self::None),
            "" | "Metadata" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            _ => None,
        }
    }

    fn of(self, object: &Value) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Metadata => partial(object),
            Self::Object => object.clone(),
        }
    }
}

impl Table {
    /// The table of these objects; `metadata` is that of their list.
    pub fn of<'a>(
        resource: &Resource,
        objects: impl IntoIterator<Item = &'a Value>,
        metadata: Value,
        include: IncludeObject,
        now: Timestamp,
    ) -> Self {
        let printer = Printer::of(resource);
        let row = |object: &Value| Row {
            cells: printer.cells(Subject { object, now }),
            conditions: printer.conditions(object),
            object: include.of(object),
        };
        Self {
            kind: "Table",
            api_version: API_VERSION,
            metadata,
            column_definitions: printer.columns(),
            rows: objects.into_iter().map(row).collect(),
        }
    }

    /// The table of one object, as a read of this object alone is answered.
    pub fn of_one(
        resource: &Resource,
        object: &Value,
        include: IncludeObject,
        now: Timestamp,
    ) -> Self {
        let version = object.pointer("/metadata/resourceVersion");
        let metadata = version.map_or(json!({}), |version| json!({ "resourceVersion": version }));
        Self::of(resource, [object], metadata, include, now)
    }
}

/// The object as a `PartialObjectMetadata`.
pub fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": API_VERSION,
        "metadata": object.get("metadata").unwrap_or(&Value::Null),
    })
}

/// The objects as a `PartialObjectMetadataList`; `metadata` is that of their list.
pub fn partial_list<'a>(objects: impl IntoIterator<Item = &'a Value>, metadata: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "items": objects.into_iter().map(partial).collect::<Vec<_>>(),
    })
}

/// How the rows of a resource are made.
enum Printer {
    BuiltIn(&'static builtin::Printer),
    Custom(Vec<custom::PrinterColumn>),
}

impl Printer {
    fn of(resource: &Resource) -> Self {
        match &resource.custom {
            Some(custom) => Self::Custom(custom::columns(&custom.columns)),
            None => Self::BuiltIn(builtin::find(&resource.group, &resource.kind)),
        }
    }

    fn columns(&self) -> Vec<Column> {
        match self {
            Self::BuiltIn(printer) => printer.columns(),
            Self::Custom(columns) => {
                let others = columns.iter().map(|column| column.shown.clone());
                std::iter::once(custom::name_column()).chain(others).collect()
            }
        }
    }

    fn cells(&self, subject: Subject<'_>) -> Vec<Value> {
        match self {
            Self::BuiltIn(printer) => (printer.cells)(subject),
            Self::Custom(columns) => {
                let others = columns.iter().map(|column| column.cell(subject));
                std::iter::once(subject.name()).chain(others).collect()
            }
        }
    }

    fn conditions(&self, object: &Value) -> Vec<Value> {
        match self {
            Self::BuiltIn(printer) => (printer.conditions)(object),
            Self::Custom(_) => Vec::new(),
        }
    }
}
