//! Table columns of custom resources.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceColumnDefinition;
use serde_json::{Number, Value, json};

use super::row::RowContext;
use super::{Column, JsonPath, age};

/// An `additionalPrinterColumn` of a CRD.
pub(super) struct PrinterColumn {
    pub(super) shown: Column,
    /// `None` if the path is invalid: the cells are empty.
    path: Option<JsonPath>,
}

/// The columns after the name; the age if the CRD declares none.
pub(super) fn columns(declared: &[CustomResourceColumnDefinition]) -> Vec<PrinterColumn> {
    if declared.is_empty() {
        let age = CustomResourceColumnDefinition {
            name: "Age".to_owned(),
            type_: "date".to_owned(),
            json_path: ".metadata.creationTimestamp".to_owned(),
            description: Some("Time since the object was created".to_owned()),
            ..CustomResourceColumnDefinition::default()
        };
        return vec![PrinterColumn::of(&age)];
    }
    declared.iter().map(PrinterColumn::of).collect()
}

/// The first column of every table.
pub(super) fn name_column() -> Column {
    Column {
        name: "Name".to_owned(),
        type_: "string".to_owned(),
        format: "name".to_owned(),
        description: "The name of the object".to_owned(),
        priority: 0,
    }
}

impl PrinterColumn {
    fn of(declared: &CustomResourceColumnDefinition) -> Self {
        let shown = Column {
            name: declared.name.clone(),
            type_: declared.type_.clone(),
            format: declared.format.clone().unwrap_or_default(),
            description: declared.description.clone().unwrap_or_default(),
            priority: declared.priority.unwrap_or_default(),
        };
        Self { shown, path: JsonPath::parse(&declared.json_path).ok() }
    }

    /// Values of another type than the column are not shown; string columns show every value.
    pub(super) fn cell(&self, row: RowContext<'_>) -> Value {
        let found = self.path.as_ref().map(|path| path.find(row.object)).unwrap_or_default();
        let Some(&value) = found.first() else { return Value::Null };
        match self.shown.type_.as_str() {
            "string" => json!(text(value)),
            "integer" => value.as_number().and_then(integer).map_or(Value::Null, Value::from),
            "number" if value.is_number() => number(value),
            "boolean" => value.as_bool().map_or(Value::Null, Value::from),
            "date" => value.as_str().map_or(Value::Null, |time| json!(age(Some(time), row.now))),
            _ => Value::Null,
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map(|number| number.to_string()).unwrap_or_default()
        }
        Value::Null => "<no value>".to_owned(),
        other => other.to_string(),
    }
}

/// Integers without a fraction, as Go writes them.
fn number(value: &Value) -> Value {
    let whole = value.as_number().and_then(integer).map(Value::from);
    let same = |whole: &Value| whole.as_f64() == value.as_f64();
    whole.filter(same).unwrap_or_else(|| value.clone())
}

#[expect(clippy::cast_possible_truncation, reason = "the fraction is not shown")]
fn integer(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))
}
