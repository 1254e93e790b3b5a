//! Differences between the fields of two objects.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Difference;

/// Difference of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldChange {
    /// Path of the field, such as `spec.template.spec.containers[name=operator].image`.
    pub field: String,
    /// Old and new value.
    #[serde(flatten)]
    pub difference: Difference<Value>,
}

/// The fields that differ between two objects, sorted by name.
pub(super) fn between(from: &Value, to: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    compare(String::new(), Some(from), Some(to), &mut found);
    found
}

// Recursion is limited: the JSON reader limits the depth of values.
fn compare(field: String, from: Option<&Value>, to: Option<&Value>, found: &mut Vec<FieldChange>) {
    if from == to {
        return;
    }
    let parts = from.zip(to).and_then(|(from, to)| Some((parts(from, to)?, parts(to, from)?)));
    if let Some((from, to)) = parts {
        let before = found.len();
        let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
        for name in names {
            compare(joined(&field, name), from.get(name).copied(), to.get(name).copied(), found);
        }
        // If no item differs, the order of the list does.
        if found.len() > before {
            return;
        }
    }
    let difference = Difference { old: from.cloned(), new: to.cloned() };
    found.push(FieldChange { field, difference });
}

/// The parts of a value by name, if it can be compared with another one part by part.
fn parts<'a>(value: &'a Value, other: &Value) -> Option<BTreeMap<String, &'a Value>> {
    match (value, other) {
        (Value::Object(fields), Value::Object(_)) => {
            Some(fields.iter().map(|(name, value)| (name.clone(), value)).collect())
        }
        (Value::Array(items), Value::Array(_)) => by_name(items),
        _ => None,
    }
}

/// The items of a list by their names, as containers and variables have them.
fn by_name(items: &[Value]) -> Option<BTreeMap<String, &Value>> {
    let named = |item| Value::get(item, "name").and_then(Value::as_str);
    let mut found = BTreeMap::new();
    for item in items {
        found.insert(format!("[name={}]", named(item)?), item);
    }
    (found.len() == items.len()).then_some(found)
}

fn joined(field: &str, name: &str) -> String {
    match name {
        name if field.is_empty() || name.starts_with('[') => format!("{field}{name}"),
        // Keys of labels and annotations have dots themselves.
        name if name.contains('.') => format!("{field}[{name}]"),
        name => format!("{field}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(from: &Value, to: &Value) -> Vec<String> {
        let messages = |change: FieldChange| format!("{}: {}", change.field, change.difference);
        between(from, to).into_iter().map(messages).collect()
    }

    #[test]
    fn between_returns_only_differences() {
        let from = json!({
            "metadata": {"labels": {"app.example/name": "a", "same": "x"}},
            "spec": {"replicas": 1, "old": true, "list": [1, 2], "none": null,
                "containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]},
        });
        let to = json!({
            "metadata": {"labels": {"app.example/name": "b", "same": "x"}},
            "spec": {"replicas": 2, "new": {"a": 1}, "list": [1, 3], "none": {},
                "containers": [{"name": "b", "image": "1"}, {"name": "a", "image": "2"}, {"name": "c"}]},
        });
        insta::assert_snapshot!(messages(&from, &to).join("\n"), @r#"
        metadata.labels[app.example/name]: "a" → "b"
        spec.containers[name=a].image: "1" → "2"
        spec.containers[name=c]: nothing → {"name":"c"}
        spec.list: [1,2] → [1,3]
        spec.new: nothing → {"a":1}
        spec.none: null → {}
        spec.old: true → nothing
        spec.replicas: 1 → 2
        "#);
        assert!(messages(&to, &to).is_empty());
    }

    #[test]
    fn between_of_unnamed_lists_returns_whole_values() {
        for (from, to) in [
            (json!({"a": [{"name": "x"}, {"name": "x"}]}), json!({"a": [{"name": "x"}]})),
            (
                json!({"a": [{"name": "x"}, {"name": "y"}]}),
                json!({"a": [{"name": "y"}, {"name": "x"}]}),
            ),
            (json!({"a": [{"name": "x"}, 1]}), json!({"a": [{"name": "y"}, 1]})),
            (json!({"a": []}), json!({"a": {}})),
        ] {
            let changes = between(&from, &to);
            let whole = Difference { old: Some(from["a"].clone()), new: Some(to["a"].clone()) };
            assert_eq!(changes, [FieldChange { field: "a".to_owned(), difference: whole }]);
        }
    }
}
