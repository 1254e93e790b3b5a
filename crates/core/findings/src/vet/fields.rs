//! Looking into manifests.

use serde_json::Value;

/// A value, and how one gets there.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub(super) path: String,
    pub(super) value: &'a Value,
}

impl<'a> Field<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { path: String::new(), value }
    }

    /// The field of that name; null where there is none.
    pub(super) fn field(&self, name: &str) -> Self {
        let separator = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{separator}{name}", self.path);
        Self { path, value: self.value.get(name).unwrap_or(&Value::Null) }
    }

    /// Field by field.
    pub(super) fn at(&self, names: &[&str]) -> Self {
        names.iter().fold(self.clone(), |field, name| field.field(name))
    }

    /// The entries of a list; none where it is something else.
    pub(super) fn items(&self) -> Vec<Self> {
        let values = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        let item = |(index, value)| Self { path: format!("{}[{index}]", self.path), value };
        values.iter().enumerate().map(item).collect()
    }

    /// Whether it is a list with something in it.
    pub(super) fn is_filled_list(&self) -> bool {
        self.value.as_array().is_some_and(|values| !values.is_empty())
    }

    /// The text; empty where it is something else.
    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// Whether it says something: not null, false, nothing or empty.
    pub(super) fn is_set(&self) -> bool {
        match self.value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(values) => !values.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
            Value::Bool(true) | Value::Number(_) => true,
        }
    }
}
