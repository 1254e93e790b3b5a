//! Field ownership, from `managedFields`.

use serde_json::{Map, Value, json};

use crate::FIELD_MANAGER;

/// Field managers of operators: fields that they set and the release no longer has are removed.
const OURS: [&str; 2] = [FIELD_MANAGER, "cluster-version-operator"];

fn is_ours(entry: &Value) -> bool {
    entry["manager"].as_str().is_some_and(|manager| OURS.contains(&manager))
}

/// Entries about the object itself, without its subresources.
fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter(|entry| entry["subresource"].as_str().is_none_or(str::is_empty))
}

fn is_applied_by_us(entry: &Value) -> bool {
    entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply"
}

/// The fields that Fairway applied.
pub fn applied_fields(object: &Value) -> Option<&Map<String, Value>> {
    entries(object).find(|entry| is_applied_by_us(entry))?["fieldsV1"].as_object()
}

/// The manager of the latest write by another client.
pub fn latest_other_manager(object: &Value) -> Option<&str> {
    let others = entries(object).filter(|entry| !is_ours(entry));
    // All times have the same format, so they sort as text.
    others.max_by_key(|entry| entry["time"].as_str())?["manager"].as_str()
}

/// Removes the field lists of other managers, which are long and unused. Their names stay.
pub fn drop_fields_of_others(metadata: &mut Map<String, Value>) {
    let entries = metadata.get_mut("managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter(|entry| !is_ours(entry)) {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("fieldsV1");
        }
    }
}

/// A merge patch that moves all own fields to the apply entry; `None` if there are no others.
///
/// Server-side apply removes a field that a manifest no longer has only if it was applied before.
pub fn moved_to_apply(object: &Value) -> Option<Value> {
    let is_to_move = |entry: &&Value| is_ours(entry) && entry["operation"] == "Update";
    let moving: Vec<&Value> = entries(object).filter(is_to_move).collect();
    let first = *moving.first()?;
    let applied = entries(object).find(|entry| is_applied_by_us(entry));
    let mut ours = applied.unwrap_or(first).clone();
    ours["manager"] = json!(FIELD_MANAGER);
    ours["operation"] = json!("Apply");
    for entry in &moving {
        unite(&mut ours["fieldsV1"], &entry["fieldsV1"]);
    }
    let all = object["metadata"]["managedFields"].as_array()?.iter();
    let mut entries: Vec<Value> =
        all.filter(|entry| !moving.contains(entry) && Some(*entry) != applied).cloned().collect();
    entries.push(ours);
    let version = &object["metadata"]["resourceVersion"];
    Some(json!({"metadata": {"managedFields": entries, "resourceVersion": version}}))
}

/// Adds the fields of one set to another.
fn unite(fields: &mut Value, more: &Value) {
    if !fields.is_object() {
        *fields = json!({});
    }
    for (step, more) in more.as_object().into_iter().flatten() {
        unite(&mut fields[step.as_str()], more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields, "time": "2026-01-01T00:00:00Z",
        })
    }

    fn object(entries: &[Value]) -> Value {
        json!({"metadata": {"name": "a", "resourceVersion": "7", "managedFields": entries}})
    }

    #[test]
    fn moved_to_apply_merges_own_entries() {
        let foreign = entry("kubectl", "Update", &json!({"f:data": {"f:c": {}}}));
        let before = object(&[
            entry("cluster-version-operator", "Update", &json!({"f:data": {".": {}, "f:a": {}}})),
            foreign.clone(),
            entry(
                "fairway",
                "Apply",
                &json!({"f:data": {"f:b": {}}, "f:metadata": {"f:labels": {}}}),
            ),
        ]);
        let moved = moved_to_apply(&before).unwrap();
        let all =
            json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {}}});
        let expected = json!([foreign, entry("fairway", "Apply", &all)]);
        assert_eq!(moved["metadata"]["managedFields"], expected);
        assert_eq!(moved["metadata"]["resourceVersion"], "7", "prevents lost updates");
        assert_eq!(moved_to_apply(&object(expected.as_array().unwrap())), None, "idempotent");
    }

    #[test]
    fn moved_to_apply_ignores_status() {
        let mut status = entry("cluster-version-operator", "Update", &json!({"f:status": {}}));
        status["subresource"] = json!("status");
        assert_eq!(moved_to_apply(&object(&[status])), None);
    }

    #[test]
    fn drop_fields_of_others_keeps_names() {
        let ours = entry("fairway", "Apply", &json!({"f:data": {}}));
        let mut object =
            object(&[ours.clone(), entry("kubectl-edit", "Update", &json!({"f:x": {}}))]);
        drop_fields_of_others(object["metadata"].as_object_mut().unwrap());
        assert_eq!(object["metadata"]["managedFields"][0], ours);
        assert_eq!(object["metadata"]["managedFields"][1].get("fieldsV1"), None);
        assert_eq!(latest_other_manager(&object), Some("kubectl-edit"));
        assert!(applied_fields(&object).is_some_and(|fields| fields.contains_key("f:data")));
    }
}
