//! Who owns which field, as the API server notes it.

use serde_json::{Map, Value, json};

use crate::FIELD_MANAGER;

/// The operators whose fields are ours: what they set and a release no longer does has to go.
const OURS: [&str; 2] = [FIELD_MANAGER, "cluster-version-operator"];

fn is_ours(entry: &Value) -> bool {
    entry["manager"].as_str().is_some_and(|manager| OURS.contains(&manager))
}

/// Who owns parts of an object itself, not of its status or its scale.
fn entries(object: &Value) -> impl Iterator<Item = &Value> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter(|entry| entry["subresource"].as_str().is_none_or(str::is_empty))
}

fn is_applied_by_us(entry: &Value) -> bool {
    entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply"
}

/// The fields that were applied here.
pub fn applied_fields(object: &Value) -> Option<&Map<String, Value>> {
    entries(object).find(|entry| is_applied_by_us(entry))?["fieldsV1"].as_object()
}

/// Who else wrote to the object last, as far as the server knows.
pub fn latest_rival(object: &Value) -> Option<&str> {
    let others = entries(object).filter(|entry| !is_ours(entry));
    // Times are all written in the same form.
    others.max_by_key(|entry| entry["time"].as_str())?["manager"].as_str()
}

/// Drops which fields others own: it is long, and nobody asks. That they own some stays.
pub fn forget_fields_of_others(metadata: &mut Map<String, Value>) {
    let entries = metadata.get_mut("managedFields").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter(|entry| !is_ours(entry)) {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("fieldsV1");
        }
    }
}

/// A merge patch after which whatever we own, we own by having applied it; `None` if that is so.
///
/// Fields that were owned otherwise would stay when a release no longer has them: only what was
/// applied once is removed by not applying it again.
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
    fn what_was_written_becomes_what_was_applied() {
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
        assert_eq!(moved["metadata"]["resourceVersion"], "7", "nobody else's entry gets lost");
        assert_eq!(moved_to_apply(&object(expected.as_array().unwrap())), None, "once is enough");
    }

    #[test]
    fn what_is_written_to_the_status_stays_as_it_is() {
        let mut status = entry("cluster-version-operator", "Update", &json!({"f:status": {}}));
        status["subresource"] = json!("status");
        assert_eq!(moved_to_apply(&object(&[status])), None);
    }

    #[test]
    fn only_names_are_remembered_of_others() {
        let ours = entry("fairway", "Apply", &json!({"f:data": {}}));
        let mut object =
            object(&[ours.clone(), entry("kubectl-edit", "Update", &json!({"f:x": {}}))]);
        forget_fields_of_others(object["metadata"].as_object_mut().unwrap());
        assert_eq!(object["metadata"]["managedFields"][0], ours);
        assert_eq!(object["metadata"]["managedFields"][1].get("fieldsV1"), None);
        assert_eq!(latest_rival(&object), Some("kubectl-edit"));
        assert!(applied_fields(&object).is_some_and(|fields| fields.contains_key("f:data")));
    }
}
