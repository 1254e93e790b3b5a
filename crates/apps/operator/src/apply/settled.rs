//! What a server makes of an object that it does not have as it is wanted.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// What was wanted, and what the server made of it. A webhook may change what is written, an old
/// server drops what it does not know: while neither side of this changes, writing again would
/// change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    wanted: [u8; 32],
    live: [u8; 32],
}

impl Settled {
    pub(super) fn of(wanted: &Value, live: &Value) -> Self {
        let digest = |value: &Value| Sha256::digest(value.to_string()).into();
        Self { wanted: digest(wanted), live: digest(&content(live)) }
    }
}

/// An object without what changes when nothing of ours does.
fn content(live: &Value) -> Value {
    let mut content = live.as_object().cloned().unwrap_or_default();
    // Lists do not name the kind of each item.
    content.retain(|key, _| !matches!(key.as_str(), "status" | "apiVersion" | "kind"));
    let metadata = content.get_mut("metadata").and_then(Value::as_object_mut);
    let fields: &mut Map<String, Value> = &mut Map::new();
    metadata.unwrap_or(fields).retain(|key, _| {
        matches!(key.as_str(), "annotations" | "finalizers" | "labels" | "ownerReferences" | "uid")
    });
    Value::Object(content)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_changes_by_itself_does_not_count() {
        let wanted = json!({"spec": {"a": 1}});
        let live = json!({"kind": "A", "metadata": {"uid": "1", "resourceVersion": "7"}, "spec": {"a": 2}});
        let settled = Settled::of(&wanted, &live);
        let later = json!({
            "metadata": {"uid": "1", "resourceVersion": "8"}, "spec": {"a": 2}, "status": {"b": 1},
        });
        assert_eq!(Settled::of(&wanted, &later), settled);
        let edited = json!({"metadata": {"uid": "1"}, "spec": {"a": 3}});
        assert_ne!(Settled::of(&wanted, &edited), settled);
        assert_ne!(Settled::of(&json!({"spec": {"a": 3}}), &live), settled);
    }
}
