//! Required fields that a manifest leaves out: the zero value, or the value of another client.

use fairway_apply::ownership::applied_fields;
use fairway_release::{Manifest, ObjectId, ZeroValue};
use serde_json::{Map, Value};

/// The value to apply for a required field that a manifest leaves out, or `None` if another client
/// has set the field: applying the zero value would reset it.
pub(super) fn value(id: &ObjectId, zero: &ZeroValue, live: Option<&Value>) -> Option<Value> {
    let Some(live) = live else { return Some(zero.value.clone()) };
    // The release owns the items of its lists as a whole: an item without a required field is
    // refused.
    if is_enforced(id) || is_in_list(&zero.pointer, live) {
        return Some(zero.value.clone());
    }
    let Some(found) = live.pointer(&zero.pointer) else { return Some(zero.value.clone()) };
    let steps = zero.pointer.split('/').skip(1);
    let applied = steps.fold(applied_fields(live), |fields, step| {
        let step = step.replace("~1", "/").replace("~0", "~");
        owned(fields, &step)
    });
    unless_set(&zero.value, found, applied)
}

/// Whether another client may have set required fields that a manifest leaves out.
pub(in crate::apply) fn may_have_foreign_values(manifest: &Manifest) -> bool {
    manifest.has_zero_values() && !is_enforced(&manifest.id)
}

/// Whether zero values are applied even if another client has set the field. An omitted field of a
/// `SecurityContextConstraints` denies something; the Go operator resets it, too
/// (`lib/resourcemerge/security.go`).
fn is_enforced(id: &ObjectId) -> bool {
    id.group == "security.openshift.io" && id.kind == "SecurityContextConstraints"
}

/// Whether a field is in an item of a list.
fn is_in_list(pointer: &str, live: &Value) -> bool {
    let parents = pointer.match_indices('/').map(|(end, _)| &pointer[..end]);
    parents.filter_map(|parent| live.pointer(parent)).any(Value::is_array)
}

/// The zero value without the parts that another client has set. Parts that were applied before stay:
/// without them, the API server would remove a required field.
fn unless_set(zero: &Value, live: &Value, applied: Option<&Map<String, Value>>) -> Option<Value> {
    let (Value::Object(zero), Value::Object(live)) = (zero, live) else {
        return (applied.is_some() || zero == live).then(|| zero.clone());
    };
    let mut value = Map::new();
    for (name, zero) in zero {
        let part = match live.get(name) {
            None => Some(zero.clone()),
            Some(live) => unless_set(zero, live, owned(applied, name)),
        };
        value.extend(part.map(|part| (name.clone(), part)));
    }
    // Since 1.21, API servers treat the manager of an empty object as the manager of all fields that
    // it gets later, such as defaults. Applied as empty again, it would lose those fields.
    let has_come_to_own = |name: &String| {
        let is_whole = applied.is_some_and(|fields| fields.keys().all(|step| step == "."));
        is_whole || owned(applied, name).is_some()
    };
    for (name, live) in live.iter().filter(|(name, _)| !zero.contains_key(*name)) {
        if has_come_to_own(name) {
            value.insert(name.clone(), live.clone());
        }
    }
    Some(Value::Object(value))
}

fn owned<'a>(
    applied: Option<&'a Map<String, Value>>,
    name: &str,
) -> Option<&'a Map<String, Value>> {
    applied?.get(&format!("f:{name}"))?.as_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn widget() -> ObjectId {
        ObjectId {
            group: "example.com".to_owned(),
            kind: "Widget".to_owned(),
            ..ObjectId::default()
        }
    }

    fn zero(pointer: &str, value: Value) -> ZeroValue {
        ZeroValue { pointer: pointer.to_owned(), value }
    }

    fn applied(mut object: Value, fields: &Value) -> Value {
        let entry = json!({"manager": "fairway", "operation": "Apply", "fieldsV1": fields});
        object["metadata"] = json!({"managedFields": [entry]});
        object
    }

    #[test]
    fn value_of_unset_field_is_zero() {
        let size = zero("/spec/size", json!(0));
        for live in
            [None, Some(json!({})), Some(json!({"spec": {}})), Some(json!({"spec": {"size": 0}}))]
        {
            assert_eq!(value(&widget(), &size, live.as_ref()), Some(json!(0)), "{live:?}");
        }
    }

    #[test]
    fn value_set_by_another_client_is_none() {
        let live = json!({"spec": {"size": 5, "mode": null}});
        assert_eq!(value(&widget(), &zero("/spec/size", json!(0)), Some(&live)), None);
        let spec = zero("/spec", json!({"size": 0, "name": ""}));
        assert_eq!(value(&widget(), &spec, Some(&live)), Some(json!({"name": ""})));
    }

    #[test]
    fn value_applied_before_stays() {
        let live = applied(
            json!({"spec": {"size": 5, "log": "Normal"}}),
            &json!({"f:spec": {"f:size": {}}}),
        );
        assert_eq!(value(&widget(), &zero("/spec/size", json!(0)), Some(&live)), Some(json!(0)));
    }

    #[test]
    fn value_of_empty_object_keeps_server_defaults() {
        let spec = zero("/spec", json!({}));
        for (fields, expected) in [
            (json!({"f:spec": {}}), json!({"log": "Normal", "mode": "a"})),
            (json!({"f:spec": {".": {}, "f:log": {}}}), json!({"log": "Normal"})),
            (json!({"f:spec": {"f:log": {}}}), json!({"log": "Normal"})),
            (json!({}), json!({})),
        ] {
            let live = applied(json!({"spec": {"log": "Normal", "mode": "a"}}), &fields);
            assert_eq!(value(&widget(), &spec, Some(&live)), Some(expected), "{fields}");
        }
    }

    #[test]
    fn value_in_list_is_zero() {
        let live = json!({"parts": [{"name": "foreign"}, {"name": ""}]});
        let name = zero("/parts/0/name", json!(""));
        assert_eq!(value(&widget(), &name, Some(&live)), Some(json!("")));
    }

    #[test]
    fn value_of_security_context_constraints_is_zero() {
        let scc = ObjectId {
            group: "security.openshift.io".to_owned(),
            kind: "SecurityContextConstraints".to_owned(),
            ..ObjectId::default()
        };
        let live = json!({"allowHostNetwork": true});
        let zero = zero("/allowHostNetwork", json!(false));
        assert_eq!(value(&scc, &zero, Some(&live)), Some(json!(false)));
    }
}
