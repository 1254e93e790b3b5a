//! Whether what a status says of preflights is said by the operator that runs now.

use fairway_api::ClusterVersion;
use fairway_api::reason::preflight_running;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::Value;

/// Whether whoever has written the condition `PreflightRunning` was the last to write the status.
///
/// An operator that does not know the condition leaves it where another operator had it: the
/// condition alone proves nothing then, and the request would be taken for an update.
pub(super) fn condition_is_current(cluster_version: &ClusterVersion) -> bool {
    let entries = cluster_version.metadata.managed_fields.as_deref().unwrap_or_default();
    let newest = entries.iter().filter(|entry| has_status(entry)).map(written).max();
    let author = entries.iter().filter(|entry| has_condition(entry)).map(written).max();
    match (author, newest) {
        (Some(author), Some(newest)) => author >= newest,
        // Not told: the server keeps no accounts of writers.
        (None, None) => true,
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// When it was written, in the form that orders as time does.
fn written(entry: &ManagedFieldsEntry) -> Option<Timestamp> {
    entry.time.as_ref().map(|time| time.0)
}

fn status(entry: &ManagedFieldsEntry) -> Option<&Value> {
    entry.fields_v1.as_ref()?.0.get("f:status")
}

fn has_status(entry: &ManagedFieldsEntry) -> bool {
    status(entry).is_some()
}

fn has_condition(entry: &ManagedFieldsEntry) -> bool {
    let Some(conditions) = status(entry).and_then(|status| status.get("f:conditions")) else {
        return false;
    };
    let ours = format!(r#"k:{{"type":"{}"}}"#, preflight_running::TYPE);
    // Where a definition knows no keys of the list, whoever writes it has all of it.
    conditions.get(&ours).is_some() || conditions.as_object().is_some_and(serde_json::Map::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_counts_while_its_author_writes_the_status() {
        let entry = |manager: &str, time: &str, fields: Value| {
            json!({"manager": manager, "operation": "Apply", "apiVersion": "config.openshift.io/v1",
                "fieldsType": "FieldsV1", "subresource": "status", "time": time, "fieldsV1": fields})
        };
        let ours = json!({"f:status": {"f:conditions": {
            "k:{\"type\":\"PreflightRunning\"}": {"f:status": {}}}}});
        let all = json!({"f:status": {"f:conditions": {}}});
        let theirs = json!({"f:status": {"f:conditions": {
            "k:{\"type\":\"Progressing\"}": {"f:status": {}}}}});
        let spec = json!({"f:spec": {"f:channel": {}}});
        let (early, late) = ("2026-03-01T10:00:00Z", "2026-03-01T10:00:01Z");
        let cases = [
            ("nobody is named", vec![], true),
            ("one operator", vec![entry("fairway-status", early, ours.clone())], true),
            ("a list without keys", vec![entry("fairway-status", early, all)], true),
            (
                "somebody asked for a channel since",
                vec![entry("fairway-status", early, ours.clone()), entry("kubectl", late, spec)],
                true,
            ),
            (
                "within the same second",
                vec![
                    entry("fairway-status", early, ours.clone()),
                    entry("x", early, theirs.clone()),
                ],
                true,
            ),
            (
                "another operator has taken over",
                vec![
                    entry("fairway-status", early, ours),
                    entry("cluster-version-operator", late, theirs.clone()),
                ],
                false,
            ),
            ("an operator without it", vec![entry("x", early, theirs)], false),
        ];
        for (name, entries, expected) in cases {
            let object: ClusterVersion = serde_json::from_value(json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
                "metadata": {"name": "version", "managedFields": entries},
                "spec": {"clusterID": "11111111-2222-4333-8444-555555555555"},
            }))
            .unwrap();
            assert_eq!(condition_is_current(&object), expected, "{name}");
        }
    }
}
