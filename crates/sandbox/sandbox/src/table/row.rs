//! Access to an object for the cells of its row.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::age::{self, UNKNOWN};

pub(super) const NONE: &str = "<none>";

/// An object, and the current time for ages. Paths are JSON pointers.
#[derive(Clone, Copy)]
pub(super) struct RowContext<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

impl<'a> RowContext<'a> {
    pub(super) fn value(&self, path: &str) -> &'a Value {
        self.object.pointer(path).unwrap_or(&Value::Null)
    }

    pub(super) fn text(&self, path: &str) -> &'a str {
        self.value(path).as_str().unwrap_or_default()
    }

    /// The string, or a default.
    pub(super) fn text_or(&self, path: &str, otherwise: &'a str) -> &'a str {
        match self.text(path) {
            "" => otherwise,
            text => text,
        }
    }

    pub(super) fn number(&self, path: &str) -> i64 {
        self.number_or(path, 0)
    }

    pub(super) fn number_or(&self, path: &str, otherwise: i64) -> i64 {
        self.value(path).as_i64().unwrap_or(otherwise)
    }

    pub(super) fn flag(&self, path: &str) -> bool {
        self.value(path).as_bool().unwrap_or(false)
    }

    pub(super) fn items(&self, path: &str) -> &'a [Value] {
        self.value(path).as_array().map_or(&[], Vec::as_slice)
    }

    pub(super) fn fields(&self, path: &str) -> Option<&'a Map<String, Value>> {
        self.value(path).as_object()
    }

    /// Number of items or fields.
    pub(super) fn count(&self, path: &str) -> usize {
        self.fields(path).map_or(self.items(path).len(), Map::len)
    }

    /// This field of all items, where set.
    pub(super) fn texts_of(&self, path: &str, field: &str) -> Vec<&'a str> {
        let items = self.items(path).iter();
        items.filter_map(|item| item.get(field)?.as_str()).filter(|text| !text.is_empty()).collect()
    }

    /// The items of a list, for nested access.
    pub(super) fn parts(self, path: &str) -> impl Iterator<Item = Self> {
        self.items(path).iter().map(move |object| Self { object, now: self.now })
    }

    pub(super) fn name(&self) -> Value {
        json!(self.text("/metadata/name"))
    }

    pub(super) fn age(&self) -> Value {
        json!(self.age_of("/metadata/creationTimestamp"))
    }

    pub(super) fn age_of(&self, path: &str) -> String {
        age::age(self.value(path).as_str(), self.now)
    }

    /// Creation time in RFC 3339, the only absolute time in tables.
    pub(super) fn created_at(&self) -> Value {
        json!(self.text_or("/metadata/creationTimestamp", UNKNOWN))
    }

    pub(super) fn is_being_deleted(&self) -> bool {
        self.value("/metadata/deletionTimestamp").is_string()
    }

    /// `a=b,c=d`
    pub(super) fn labels(&self, path: &str) -> String {
        let labels = self.fields(path).into_iter().flatten();
        let mut labels: Vec<_> = labels.map(|(key, value)| equation(key, value)).collect();
        labels.sort();
        or_none(labels.join(","))
    }

    /// A label selector in kubectl notation.
    pub(super) fn selector(&self, path: &str) -> String {
        or_none(selector_text(self.value(path)))
    }
}

/// A label selector in kubectl notation.
pub(crate) fn selector_text(selector: &Value) -> String {
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let labels = labels.map(|(key, value)| (key.as_str(), equation(key, value)));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let expressions = expressions.into_iter().flatten().map(expression);
    let mut all: Vec<_> = labels.chain(expressions).collect();
    all.sort_by_key(|(key, _)| *key);
    let all: Vec<_> = all.into_iter().map(|(_, text)| text).collect();
    all.join(",")
}

pub(super) fn or_none(text: String) -> String {
    if text.is_empty() { NONE.to_owned() } else { text }
}

fn equation(key: &str, value: &Value) -> String {
    format!("{key}={}", value.as_str().unwrap_or_default())
}

fn expression(expression: &Value) -> (&str, String) {
    let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
    let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
    let mut values: Vec<_> = values.filter_map(Value::as_str).collect();
    values.sort_unstable();
    let (key, values) = (text("key"), values.join(","));
    let shown = match text("operator") {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    };
    (key, shown)
}
