use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::patch::{json, merge, strategic};
use crate::schema::Schema;

/// Names and values that have a meaning in patches.
fn word() -> impl Strategy<Value = String> {
    #[rustfmt::skip]
    let words = vec![
        "a", "b", "", "-", "0", "-1", "name", "op", "path", "from", "value", "add", "move",
        "copy", "test", "/a", "/a/b", "/0", "/spec/containers/0", "spec", "metadata",
        "containers", "env", "volumes", "finalizers", "$patch", "replace", "delete",
        "$retainKeys", "$setElementOrder/containers", "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
    ];
    prop::sample::select(words).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(word(), value(), 0..6)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// The merge patch from `before` to `after`, which have no nulls.
fn difference(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let mut patch: Map<String, Value> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in after {
        match before.get(key) {
            Some(old) if old == value => {}
            Some(old) => drop(patch.insert(key.clone(), difference(old, value))),
            None => drop(patch.insert(key.clone(), value.clone())),
        }
    }
    Value::Object(patch)
}

/// Removes unwanted fields.
fn without(value: Value, unwanted: &dyn Fn(&str, &Value) -> bool) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(key, value)| !unwanted(key, value));
            Value::Object(kept.map(|(key, value)| (key, without(value, unwanted))).collect())
        }
        Value::Array(items) => items.into_iter().map(|item| without(item, unwanted)).collect(),
        other => other,
    }
}

fn without_nulls(value: Value) -> Value {
    without(value, &|_, value| value.is_null())
}

proptest! {
    #[test]
    fn merge_with_itself_changes_nothing(object in object()) {
        let object = without_nulls(object);
        prop_assert_eq!(merge(&object, &object).unwrap(), object);
    }

    #[test]
    fn merge_of_difference_returns_other_object(before in object(), after in object()) {
        let (before, after) = (without_nulls(before), without_nulls(after));
        prop_assert_eq!(merge(&difference(&before, &after), &before).unwrap(), after.clone());
        let operations = serde_json::to_value(json_patch::diff(&before, &after)).unwrap();
        if let Ok(patched) = json(&operations, &before) {
            prop_assert_eq!(patched, after);
        } else {
            prop_assert!(operations.to_string().contains(r#""path":"""#), "{}", operations);
        }
    }

    #[test]
    fn strategic_merge_without_schema_equals_merge(before in object(), patch in object()) {
        let patch = without(patch, &|key, _| key.starts_with('$'));
        let strategic = strategic(&patch, &before, &Schema::Deduced).unwrap();
        prop_assert_eq!(without_nulls(strategic), without_nulls(merge(&patch, &before).unwrap()));
    }

    #[test]
    fn any_patch_does_not_panic(patch in value(), more in prop::collection::vec(object(), 0..4), object in object()) {
        let pod = Schema::builtin("", "Pod").unwrap();
        for patch in [patch, Value::from(more)] {
            let _ = json(&patch, &object);
            let _ = merge(&patch, &object);
            let _ = strategic(&patch, &object, &pod);
        }
    }
}
