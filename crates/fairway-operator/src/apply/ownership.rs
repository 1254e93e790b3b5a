//! Who owns which field, as the API server notes it.

use serde_json::{Map, Value};

use super::FIELD_MANAGER;

/// The operators whose fields are ours: what they set and a release no longer does has to go.
const OURS: [&str; 2] = [FIELD_MANAGER, "cluster-version-operator"];

fn is_ours(entry: &Value) -> bool {
    entry["manager"].as_str().is_some_and(|manager| OURS.contains(&manager))
}

/// Drops which fields others own: it is long, and nobody asks. That they own some stays.
pub(super) fn forget_fields_of_others(metadata: &mut Map<String, Value>) {
    let entries = metadata.get_mut("managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter(|entry| !is_ours(entry)) {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("fieldsV1");
        }
    }
}
