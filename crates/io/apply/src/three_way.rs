//! Client-side three-way merge of the last applied, the desired and the live object.
//!
//! API servers cannot apply some objects: old ones do not know newer fields, and none accepts a list
//! with repeated keys. Such an object is written by PUT. An annotation has the last applied object, so
//! that fields that the manifest no longer has can be told from fields of other clients. kubectl's
//! `last-applied-configuration` works the same way.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::canonical::{is_empty, is_part_of};

/// Annotation with the last applied object, and what the API server accepted of it.
pub const LAST_APPLIED: &str = "fairway.dev/last-applied";

/// Maximum bytes of the last applied object: all annotations together may have 256 KiB.
const MAX_NOTE_BYTES: usize = 200 * 1024;

/// Merge keys of lists, the most specific first.
const KEYS: [&[&str]; 7] = [
    &["uid"],
    &["containerPort", "protocol"],
    &["port", "protocol"],
    &["mountPath"],
    &["devicePath"],
    &["name"],
    &["ip"],
];

/// Content of the annotation.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Note {
    /// Digest of the desired object.
    digest: String,
    /// The part that the API server accepted: old ones drop unknown fields. Null if it is too long.
    #[serde(skip_serializing_if = "Value::is_null")]
    object: Value,
}

impl Note {
    fn read(live: &Value) -> Option<Self> {
        serde_json::from_str(live["metadata"]["annotations"][LAST_APPLIED].as_str()?).ok()
    }

    fn new(wanted: &Value, accepted_part: &Value) -> Self {
        let note = Self { digest: digest(wanted), object: accepted_part.clone() };
        let is_short = accepted_part.to_string().len() <= MAX_NOTE_BYTES;
        if is_short { note } else { Self { object: Value::Null, ..note } }
    }

    /// The part of the desired object that the API server is known to accept.
    fn possible<'a>(&'a self, wanted: &'a Value) -> &'a Value {
        let known = self.digest == digest(wanted) && !self.object.is_null();
        if known { &self.object } else { wanted }
    }
}

/// Whether the object was written by PUT.
pub fn was_replaced(live: &Value) -> bool {
    live["metadata"]["annotations"][LAST_APPLIED].is_string()
}

/// The desired object with its annotation.
pub fn noted(wanted: &Value) -> Value {
    with_note(wanted, &Note::new(wanted, wanted))
}

/// The object to write.
pub fn merged(wanted: &Value, live: &Value) -> Value {
    let before = Note::read(live).unwrap_or_default();
    let possible = before.possible(wanted);
    let noted = with_note(possible, &Note::new(wanted, possible));
    without_managers(merge(&before.object, &noted, live))
}

/// The object to write when the API server can merge it again, without the annotation: it may not
/// have recorded the owners of fields that it could not read.
pub fn released(wanted: &Value, live: &Value) -> Value {
    let before = Note::read(live).unwrap_or_default();
    let mut merged = without_managers(merge(&before.object, wanted, live));
    let annotations = merged.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.remove(LAST_APPLIED);
    }
    merged
}

/// Removes `managedFields`, so that the API server keeps its own.
fn without_managers(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Whether the live object has everything of the desired one that the API server accepts.
pub fn is_applied(wanted: &Value, live: &Value) -> bool {
    let mut live = without_managers(live.clone());
    for types in ["apiVersion", "kind"] {
        // Items of a list have no kind.
        if let (Some(wanted), Some(live)) = (wanted.get(types), live.as_object_mut()) {
            live.insert(types.to_owned(), wanted.clone());
        }
    }
    merged(wanted, &live) == live
}

/// The object to write if the API server did not accept all fields: with an annotation of what it
/// accepted. Otherwise the write would be repeated after every restart.
pub fn accepted(wanted: &Value, live: &Value) -> Value {
    let accepted_part = accepted_part(wanted, live);
    let mut settled = merged(&accepted_part, live);
    let note = Note::new(wanted, &accepted_part);
    settled["metadata"]["annotations"][LAST_APPLIED] = json!(text(&note));
    settled
}

fn with_note(wanted: &Value, note: &Note) -> Value {
    let mut noted = wanted.clone();
    let annotations = &mut noted["metadata"]["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations[LAST_APPLIED] = json!(text(note));
    noted
}

fn text(note: &Note) -> String {
    serde_json::to_string(note).expect("strings and values serialize to JSON")
}

fn digest(wanted: &Value) -> String {
    hex::encode(Sha256::digest(wanted.to_string()))
}

/// The part of the desired object that the live object has.
fn accepted_part(wanted: &Value, live: &Value) -> Value {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => wanted
            .iter()
            .filter_map(|(name, wanted)| {
                Some((name.clone(), accepted_part(wanted, live.get(name)?)))
            })
            .collect(),
        (Value::Array(items), Value::Array(live)) if items.len() == live.len() => {
            items.iter().zip(live).map(|(wanted, live)| accepted_part(wanted, live)).collect()
        }
        _ => wanted.clone(),
    }
}

fn merge(last: &Value, wanted: &Value, live: &Value) -> Value {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => Value::Object(fields(last, wanted, live)),
        (Value::Array(wanted), Value::Array(live)) => items(last, wanted, live),
        _ if is_part_of(wanted, live, true) => live.clone(),
        _ => wanted.clone(),
    }
}

fn fields(
    last: &Value,
    wanted: &Map<String, Value>,
    live: &Map<String, Value>,
) -> Map<String, Value> {
    let is_leftover = |name: &String| last.get(name).is_some() && !wanted.contains_key(name);
    let mut merged = live.clone();
    merged.retain(|name, _| !is_leftover(name));
    for (name, wanted) in wanted {
        match live.get(name) {
            Some(live) => {
                let last = last.get(name).unwrap_or(&Value::Null);
                merged.insert(name.clone(), merge(last, wanted, live));
            }
            None if is_empty(wanted) => {}
            None => {
                merged.insert(name.clone(), wanted.clone());
            }
        }
    }
    merged
}

fn items(last: &Value, wanted: &[Value], live: &[Value]) -> Value {
    let last = last.as_array().map_or(&[][..], Vec::as_slice);
    let Some(keys) = keys_of([wanted, live, last]) else {
        let (wanted, live) = (json!(wanted), json!(live));
        return if is_part_of(&wanted, &live, true) { live } else { wanted };
    };
    let find = |items: &[Value], item: &Value| {
        items.iter().find(|other| keys.iter().all(|key| other[key] == item[key])).cloned()
    };
    let is_foreign = |item: &&Value| find(wanted, item).is_none() && find(last, item).is_none();
    let merged = wanted.iter().map(|item| match find(live, item) {
        Some(live) => merge(&find(last, item).unwrap_or_default(), item, &live),
        None => item.clone(),
    });
    let mut merged: Vec<Value> = merged.chain(live.iter().filter(is_foreign).cloned()).collect();
    // A different order is no change.
    if merged.len() == live.len() && live.iter().all(|item| merged.contains(item)) {
        merged = live.to_vec();
    }
    Value::Array(merged)
}

/// The merge key that is unique in all lists.
fn keys_of(lists: [&[Value]; 3]) -> Option<&'static [&'static str]> {
    let tell_apart = |keys: &&&[&str]| {
        lists.iter().all(|items| {
            let key = |item: &Value| -> Option<Vec<Value>> {
                keys.iter().map(|key| item.get(key).cloned()).collect()
            };
            let found: Option<Vec<_>> = items.iter().map(key).collect();
            found.is_some_and(|found| {
                (1..found.len()).all(|position| !found[..position].contains(&found[position]))
            })
        })
    };
    let any = lists.iter().any(|items| !items.is_empty());
    KEYS.iter().filter(|_| any).find(tell_apart).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(spec: &Value, last: &Value) -> Value {
        let note = Note { digest: String::new(), object: json!({"spec": last}) };
        json!({"metadata": {"annotations": {LAST_APPLIED: text(&note)}}, "spec": spec})
    }

    #[test]
    fn merged_removes_leftovers_and_keeps_foreign_fields() {
        for (last, wanted, there, expected) in [
            (
                json!({"a": 1, "b": 2}),
                json!({"a": 1}),
                json!({"a": 1, "b": 2, "c": 3}),
                json!({"a": 1, "c": 3}),
            ),
            (json!({}), json!({"a": 2}), json!({"a": 1}), json!({"a": 2})),
            (
                json!({"m": {"a": 1, "b": 1}}),
                json!({"m": {"b": 1}}),
                json!({"m": {"a": 1, "b": 1}}),
                json!({"m": {"b": 1}}),
            ),
            (json!({"a": 1}), json!({"a": 1}), json!({}), json!({"a": 1})),
            (json!({}), json!({"a": [], "b": false}), json!({}), json!({})),
            (
                json!({}),
                json!({"limits": {"cpu": "0.5"}}),
                json!({"limits": {"cpu": "500m"}}),
                json!({"limits": {"cpu": "500m"}}),
            ),
        ] {
            let merged = merged(&json!({"spec": wanted}), &live(&there, &last));
            assert_eq!(merged["spec"], expected, "{last} {wanted} {there}");
        }
    }

    #[test]
    fn merged_lists_by_merge_key() {
        let last = json!({"c": [{"name": "a", "image": "1"}, {"name": "old", "image": "1"}]});
        let wanted = json!({"c": [{"name": "a", "image": "2"}, {"name": "new", "image": "2"}]});
        let there = json!({"c": [
            {"name": "sidecar", "image": "s"},
            {"name": "old", "image": "1"},
            {"name": "a", "image": "1", "pull": "Always"},
        ]});
        let merged = merged(&json!({"spec": wanted}), &live(&there, &last));
        let expected = json!({"c": [
            {"name": "a", "image": "2", "pull": "Always"},
            {"name": "new", "image": "2"},
            {"name": "sidecar", "image": "s"},
        ]});
        assert_eq!(merged["spec"], expected);
    }

    #[test]
    fn merged_list_with_repeated_keys_is_replaced() {
        let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
        let there = json!({"env": [{"name": "A", "value": "0"}]});
        let merged = merged(&json!({"spec": {"env": env}}), &live(&there, &json!({})));
        assert_eq!(merged["spec"]["env"], env);
    }

    #[test]
    fn is_applied_after_merge() {
        let wanted = json!({"spec": {"a": 1, "c": [{"name": "x"}], "e": {}}});
        let there = live(&json!({"a": 2, "foreign": 1, "c": [{"name": "y"}]}), &json!({"old": 1}));
        assert!(!is_applied(&wanted, &there));
        let mut after = merged(&wanted, &there);
        assert!(is_applied(&wanted, &after));
        after["spec"]["more"] = json!("foreign");
        assert!(is_applied(&wanted, &after));
        after["spec"]["a"] = json!(3);
        assert!(!is_applied(&wanted, &after));
        assert!(!is_applied(&json!({"spec": {"a": 1}}), &merged(&wanted, &there)), "a leftover");
    }

    #[test]
    fn released_has_no_annotation() {
        let there = live(&json!({"a": 1, "old": 1, "foreign": 1}), &json!({"a": 1, "old": 1}));
        let released = released(&json!({"spec": {"a": 1}}), &there);
        assert_eq!(
            released,
            json!({"metadata": {"annotations": {}}, "spec": {"a": 1, "foreign": 1}})
        );
    }

    #[test]
    fn accepted_drops_unknown_fields() {
        let wanted = json!({"spec": {"a": 1, "new": {"b": 2}, "c": [{"name": "x", "new": 1}]}});
        let mut there = merged(&wanted, &live(&json!({}), &json!({})));
        there["spec"] = json!({"a": 1, "c": [{"name": "x"}]});
        assert!(!is_applied(&wanted, &there));
        let after = accepted(&wanted, &there);
        assert_eq!(after["spec"], there["spec"]);
        assert!(is_applied(&wanted, &after));
        let mut changed = after.clone();
        changed["spec"].as_object_mut().unwrap().remove("a");
        assert!(!is_applied(&wanted, &changed));
        assert_eq!(merged(&wanted, &changed), after);
        let more = json!({"spec": {"a": 1, "new": {"b": 3}}});
        assert!(!is_applied(&more, &after), "another desired object");
    }
}
