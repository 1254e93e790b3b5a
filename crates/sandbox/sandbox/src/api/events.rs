//! The two forms of events: what one API group calls so, the other one calls otherwise.

use serde_json::{Map, Value};

/// The names of a field in the older form and in the newer one.
const NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// The form of the group `events.k8s.io`.
pub(super) fn newer(event: Value) -> Value {
    let other = |name: &str| NAMES.iter().find(|(older, _)| *older == name).map(|pair| pair.1);
    renamed(event, "events.k8s.io/v1", other)
}

/// The form of the core group, which is stored.
pub(super) fn older(event: Value) -> Value {
    let other = |name: &str| NAMES.iter().find(|(_, newer)| *newer == name).map(|pair| pair.0);
    renamed(event, "v1", other)
}

fn renamed(event: Value, version: &str, other: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Value::Object(fields) = event else { return event };
    let renamed = fields.into_iter().map(|(name, value)| match other(&name) {
        Some(other) => (other.to_owned(), value),
        None => (name, value),
    });
    let mut fields: Map<String, Value> = renamed.collect();
    fields.insert("apiVersion".to_owned(), version.into());
    Value::Object(fields)
}
