//! Representations of objects that kubectl requests: Table and `PartialObjectMetadata`.
//!
//! | module | content |
//! | --- | --- |
//! | `builtin`, `cells` | columns and cells of built-in kinds |
//! | `custom`, `json_path` | columns of custom resources, and their `JSONPath` |
//! | `row` | access to an object for the cells of its row |
//! | `age` | ages and durations in the notation of kubectl |

mod age;
mod builtin;
mod cells;
mod custom;
mod json_path;
mod row;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use row::RowContext;
use serde::Serialize;
use serde_json::{Value, json};

use crate::catalog::Resource;

pub use age::{age, human_duration};
pub use json_path::{JsonPath, JsonPathError};
pub(crate) use row::selector_text;

/// API version of these representations.
const API_VERSION: &str = "meta.k8s.io/v1";

/// A `meta.k8s.io/v1` Table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Table {
    kind: &'static str,
    api_version: &'static str,
    /// Metadata of the list.
    pub metadata: Value,
    /// Definitions of the columns.
    pub column_definitions: Vec<Column>,
    /// One row for each object.
    pub rows: Vec<Row>,
}

/// A column definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// `OpenAPI` type of the cells.
    #[serde(rename = "type")]
    pub type_: String,
    /// `OpenAPI` format; `name` for the column with the name of the object.
    pub format: String,
    /// Description.
    pub description: String,
    /// 0 for columns that are always shown, greater for wide output.
    pub priority: i32,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// One cell for each column.
    pub cells: Vec<Value>,
    /// Conditions of the row, such as `Completed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Value>,
    /// The object, as requested by `includeObject`.
    pub object: Value,
}

/// Value of the parameter `includeObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// No object.
    None,
    /// Metadata only.
    #[default]
    Metadata,
    /// The complete object.
    Object,
}

impl IncludeObject {
    /// Parses the parameter; `None` if invalid.
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
    /// The table of a list; `metadata` is that of the list.
    pub fn of<'a>(
        resource: &Resource,
        objects: impl IntoIterator<Item = &'a Value>,
        metadata: Value,
        include: IncludeObject,
        now: Timestamp,
    ) -> Self {
        let printer = TablePrinter::of(resource);
        let row = |object: &Value| Row {
            cells: printer.cells(RowContext { object, now }),
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

    /// The table of one object, in response to a GET.
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

/// The objects as a `PartialObjectMetadataList`; `metadata` is that of the list.
pub fn partial_list<'a>(objects: impl IntoIterator<Item = &'a Value>, metadata: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "items": objects.into_iter().map(partial).collect::<Vec<_>>(),
    })
}

/// Columns and cells of a resource.
enum TablePrinter {
    BuiltIn(&'static builtin::BuiltinPrinter),
    Custom(Vec<custom::PrinterColumn>),
}

impl TablePrinter {
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

    fn cells(&self, row: RowContext<'_>) -> Vec<Value> {
        match self {
            Self::BuiltIn(printer) => (printer.cells)(row),
            Self::Custom(columns) => {
                let others = columns.iter().map(|column| column.cell(row));
                std::iter::once(row.name()).chain(others).collect()
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
