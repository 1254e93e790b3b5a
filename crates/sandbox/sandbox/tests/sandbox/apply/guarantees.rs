//! Guarantees of server-side apply for all contents.

use fairway_sandbox::apply::{
    Applied, ApplyError, Conflict, Element, FieldSet, WritableFields, Writer, apply, track_update,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::kinds::{TestKind, gadget_content};

/// Applies to a gadget.
fn try_apply(
    live: Option<&Value>,
    manager: &str,
    content: &Value,
    force: bool,
    now: i64,
) -> Result<Applied, ApplyError> {
    let gadget = TestKind::gadget();
    apply(live, &gadget.object("g", content), force, &gadget.writer(manager, now))
}

fn force_apply(live: Option<&Value>, manager: &str, content: &Value) -> Value {
    try_apply(live, manager, content, true, 0).unwrap().object
}

fn paths(content: &Value) -> FieldSet {
    FieldSet::from_object(&TestKind::gadget().object("g", content), &TestKind::gadget().schema)
}

fn owned_fields(object: &Value, manager: &str) -> FieldSet {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut own = entries.filter(|entry| entry["manager"] == manager);
    own.next().map(|entry| FieldSet::decode(&entry["fieldsV1"]).unwrap()).unwrap_or_default()
}

fn managers(object: &Value) -> Vec<&str> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    entries.iter().map(|entry| entry["manager"].as_str().unwrap()).collect()
}

proptest! {
    #[test]
    fn apply_twice_changes_nothing(first in gadget_content(), second in gadget_content()) {
        // Fields without owner get one by the next apply.
        prop_assume!(!paths(&first).is_empty());
        let live = force_apply(None, "anna", &first);
        let live = force_apply(Some(&live), "bert", &second);
        let again = try_apply(Some(&live), "bert", &second, false, 60).unwrap();
        prop_assert!(!again.changed, "{}", json_patch::diff(&live, &again.object));
        prop_assert_eq!(again.object, live);
    }

    #[test]
    fn applied_fields_are_present_and_owned(before in gadget_content(), content in gadget_content()) {
        let live = force_apply(None, "anna", &before);
        let live = force_apply(Some(&live), "bert", &content);
        let missing = paths(&content).difference(&paths(&live));
        prop_assert!(missing.is_empty(), "{:?}", missing);
        prop_assert_eq!(owned_fields(&live, "bert"), paths(&content));
    }

    #[test]
    fn omitted_fields_are_removed_unless_owned_by_others(
        shared in gadget_content(), first in gadget_content(), second in gadget_content(),
    ) {
        let live = force_apply(None, "anna", &first);
        let live = force_apply(Some(&live), "bert", &shared);
        // The result is as if the first manager had applied the second manifest only.
        let left = force_apply(Some(&live), "anna", &second);
        let lost = paths(&left).difference(&paths(&shared).union(&paths(&second)));
        prop_assert!(lost.is_empty(), "{:?} is left in {}", lost, left);
        let gone = paths(&shared).union(&paths(&second)).difference(&paths(&left));
        let overruled = paths(&shared).difference(&paths(&second));
        prop_assert!(gone.difference(&overruled).is_empty(), "{:?} is gone", gone);
    }

    #[test]
    fn disjoint_managers_apply_in_any_order(content in gadget_content()) {
        let all = content["spec"].as_object().unwrap();
        let half = |odd: bool| {
            let fields = all.iter().enumerate().filter(|(number, _)| (number % 2 == 1) == odd);
            let spec: serde_json::Map<_, _> =
                fields.map(|(_, (name, value))| (name.clone(), value.clone())).collect();
            if spec.is_empty() { json!({ "metadata": { "labels": { "l": "red" } } }) } else { json!({ "spec": spec }) }
        };
        // An empty list has no owner, and fields without owner count as set before.
        prop_assume!(!paths(&half(true)).is_empty() && !paths(&half(false)).is_empty());
        let apply_in = |managers: [(&str, bool); 2]| {
            managers.into_iter().fold(None, |live: Option<Value>, (manager, odd)| {
                Some(try_apply(live.as_ref(), manager, &half(odd), false, 0).unwrap().object)
            })
        };
        prop_assert_eq!(apply_in([("anna", true), ("bert", false)]), apply_in([("bert", false), ("anna", true)]));
    }

    #[test]
    fn update_takes_over_only_what_it_changes(
        before in gadget_content(), after in gadget_content(),
    ) {
        // Objects without owners are not tracked.
        prop_assume!(!paths(&before).is_empty());
        let gadget = TestKind::gadget();
        let live = force_apply(None, "anna", &before);
        let new = track_update(Some(&live), &gadget.object("g", &after), &gadget.writer("bert", 0));
        let (anna, bert) = (owned_fields(&new, "anna"), owned_fields(&new, "bert"));
        prop_assert!(anna.intersection(&bert).is_empty());
        prop_assert!(anna.difference(&paths(&before)).is_empty());
        prop_assert!(paths(&after).difference(&anna.union(&bert)).is_empty());
    }

    #[test]
    fn field_sets_obey_set_laws(a in gadget_content(), b in gadget_content(), c in gadget_content()) {
        let (a, b, c) = (paths(&a), paths(&b), paths(&c));
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.union(&b).difference(&b), a.difference(&b));
        prop_assert_eq!(a.difference(&a.difference(&b)), a.intersection(&b));
        prop_assert!(a.difference(&a).is_empty());
        prop_assert!(a.paths().iter().all(|path| a.contains(path)));
    }

    #[test]
    fn field_set_encoding_round_trips(content in gadget_content()) {
        let set = paths(&content);
        prop_assert_eq!(FieldSet::decode(&set.encode()).unwrap(), set);
    }

    #[test]
    fn decode_of_any_managed_fields_does_not_panic(
        names in proptest::collection::vec("(f:|k:|v:|i:|x:|\\.)?[\\[\\]{}\":,a0.-]{0,12}", 0..6),
        manifest in gadget_content(),
    ) {
        let nested = names.iter().fold(json!({}), |inside, name| json!({ name: inside, ".": null }));
        let _ = FieldSet::decode(&nested);
        let entry = json!({ "manager": "x", "operation": "Update", "fieldsV1": nested });
        let live = TestKind::gadget().object("g", &json!({ "metadata": { "managedFields": [entry, names] } }));
        let _ = try_apply(Some(&live), "anna", &manifest, false, 0);
    }
}

#[test]
fn deeply_nested_field_set_is_refused() {
    let deep = (0..200).fold(json!({}), |inside, _| json!({ "f:a": inside }));
    let refused = FieldSet::decode(&deep).unwrap_err();
    insta::assert_snapshot!(refused, @"a field set is nested more than 128 levels deep");
}

#[test]
fn field_set_encoding_matches_api_server() {
    let content = json!({ "spec": {
        "title": "red", "whole": { "a": "red" }, "map": { "k": "red" }, "set": ["red"], "nested": {},
        "items": [{ "name": "a", "inner": { "a": "red" } }],
        "ports": [{ "port": 80, "note": "red" }],
    } });
    insta::assert_snapshot!(serde_json::to_string_pretty(&paths(&content).encode()).unwrap());
}

#[test]
fn conflicts_name_owner_and_field() {
    let live = force_apply(
        None,
        "anna",
        &json!({ "spec": { "title": "red", "items": [{ "name": "a", "value": "red" }] } }),
    );
    let gadget = TestKind::gadget();
    let mut new = live.clone();
    new["spec"]["count"] = 1.into();
    let status = Writer { subresource: Some("scale"), ..gadget.writer("bert", 0) };
    let live = track_update(Some(&live), &new, &status);
    let one = try_apply(Some(&live), "carl", &json!({ "spec": { "title": "green" } }), false, 0)
        .unwrap_err();
    insta::assert_snapshot!(one, @r#"Apply failed with 1 conflict: conflict with "anna": .spec.title"#);
    let content = json!({ "spec": { "title": "green", "count": 2, "items": [{ "name": "a", "value": "green" }] } });
    let all = try_apply(Some(&live), "carl", &content, false, 0).unwrap_err();
    insta::assert_snapshot!(all, @r#"
    Apply failed with 3 conflicts: conflicts with "anna":
    - .spec.title
    - .spec.items[name="a"].value
    conflicts with "bert" with subresource "scale" using fairway.dev/v1:
    - .spec.count
    "#);
    let ApplyError::Conflict(conflicts) = all else { panic!("{all}") };
    let causes: Vec<_> = conflicts
        .all()
        .iter()
        .map(|one| json!([Conflict::CAUSE, one.message(), one.field]))
        .collect();
    insta::assert_snapshot!(Value::from(causes), @r#"[["FieldManagerConflict","conflict with \"anna\"",".spec.title"],["FieldManagerConflict","conflict with \"anna\"",".spec.items[name=\"a\"].value"],["FieldManagerConflict","conflict with \"bert\" with subresource \"scale\" using fairway.dev/v1",".spec.count"]]"#);
}

#[test]
fn lists_keep_applied_order() {
    let live = |names: &[&str]| force_apply(None, "anna", &json!({ "spec": { "set": names } }));
    for (before, applied, after) in [
        (vec!["a", "b", "c"], vec!["c", "a"], vec!["b", "c", "a"]),
        (vec!["a", "b"], vec!["x", "b"], vec!["a", "x", "b"]),
        (vec!["a", "b"], vec!["b", "x"], vec!["a", "b", "x"]),
        (vec!["a", "b"], vec!["b", "a"], vec!["b", "a"]),
        (vec!["a"], vec![], vec!["a"]),
    ] {
        let object =
            force_apply(Some(&live(&before)), "bert", &json!({ "spec": { "set": applied } }));
        assert_eq!(object["spec"]["set"], json!(after), "{before:?} and {applied:?}");
    }
}

#[test]
fn structure_is_removed_with_its_last_field() {
    let first = json!({ "spec": { "title": "red", "nested": { "deep": { "x": "red" } }, "items": [{ "name": "a" }] } });
    let live = force_apply(None, "anna", &first);
    let object = force_apply(Some(&live), "anna", &json!({ "spec": { "title": "red" } }));
    assert_eq!(object["spec"], json!({ "title": "red" }));
    let object =
        force_apply(Some(&live), "anna", &json!({ "metadata": { "labels": { "l": "red" } } }));
    assert_eq!(object["metadata"]["name"], "g");
    assert_eq!(object.get("spec"), None);
}

#[test]
fn identity_is_kept_by_empty_apply() {
    let gadget = TestKind::gadget();
    let mut live = force_apply(None, "anna", &json!({ "metadata": { "labels": { "l": "red" } } }));
    live["metadata"]["uid"] = "1".into();
    let object = apply(Some(&live), &json!({}), false, &gadget.writer("anna", 0)).unwrap().object;
    let expected = json!({ "name": "g", "uid": "1" });
    assert_eq!(
        object,
        json!({ "apiVersion": gadget.api_version, "kind": "Gadget", "metadata": expected })
    );
}

#[test]
fn times_change_with_ownership() {
    let gadget = TestKind::gadget();
    let time = |object: &Value| object["metadata"]["managedFields"][0]["time"].clone();
    let title = |title: &str| json!({ "spec": { "title": title } });
    let at = |live: &Value, content: &Value, now| {
        try_apply(Some(live), "anna", content, false, now).unwrap()
    };
    let live = force_apply(None, "anna", &title("red"));
    let same = at(&live, &title("red"), 60).object;
    assert_eq!(time(&same), "1970-01-01T00:00:00Z");
    let other = at(&live, &title("green"), 60).object;
    assert_eq!(time(&other), "1970-01-01T00:01:00Z");

    let created = track_update(None, &gadget.object("g", &title("red")), &gadget.writer("bert", 0));
    let changed = track_update(
        Some(&created),
        &gadget.object("g", &title("green")),
        &gadget.writer("bert", 60),
    );
    assert_eq!(time(&changed), "1970-01-01T00:00:00Z");
    let more = json!({ "spec": { "title": "green", "count": 1 } });
    let grown =
        track_update(Some(&changed), &gadget.object("g", &more), &gadget.writer("bert", 120));
    assert_eq!(time(&grown), "1970-01-01T00:02:00Z");
}

#[test]
fn subresource_changes_only_its_fields() {
    let gadget = TestKind::gadget();
    let live = force_apply(None, "anna", &json!({ "spec": { "title": "red" } }));
    let content = json!({ "spec": { "title": "green" }, "status": { "phase": "Ready" } });
    let manifest = gadget.object("g", &content);
    let status = Writer {
        subresource: Some("status"),
        writable: WritableFields::Only(&["status"]),
        ..gadget.writer("bert", 0)
    };
    let object = apply(Some(&live), &manifest, false, &status).unwrap().object;
    assert_eq!(object["spec"], json!({ "title": "red" }));
    assert_eq!(object["status"], json!({ "phase": "Ready" }));
    assert_eq!(managers(&object), ["anna", "bert"]);
    assert_eq!(object["metadata"]["managedFields"][1]["subresource"], "status");

    let main = Writer { writable: WritableFields::Except(&["status"]), ..gadget.writer("carl", 0) };
    let mut new = object.clone();
    new["status"]["phase"] = "Failed".into();
    let tracked = track_update(Some(&object), &new, &main);
    assert_eq!(managers(&tracked), ["anna", "bert"]);
    let created = apply(None, &manifest, false, &main).unwrap().object;
    assert_eq!(created.get("status"), None);
}

#[test]
fn structures_of_the_kind_are_not_owned() {
    let gadget = TestKind::gadget();
    let blank = json!({ "spec": { "nested": {} } });
    let writer = Writer { blank: &blank, ..gadget.writer("anna", 0) };
    let new = gadget.object("g", &json!({ "spec": { "nested": { "a": "red" } } }));
    let created = track_update(None, &new, &writer);
    let fields = &created["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(*fields, json!({ "f:spec": { "f:nested": { "f:a": {} } } }));
}

#[test]
fn stored_duplicates_are_tolerated() {
    let gadget = TestKind::gadget();
    let twice = json!({ "spec": { "items": [{ "name": "a", "size": 1 }, { "name": "a", "size": 2 }, { "name": "b" }] } });
    let live = track_update(None, &gadget.object("g", &twice), &gadget.writer("anna", 0));
    let other = try_apply(
        Some(&live),
        "bert",
        &json!({ "spec": { "items": [{ "name": "b" }] } }),
        false,
        0,
    );
    assert_eq!(other.unwrap().object["spec"]["items"], twice["spec"]["items"]);
    let object = force_apply(
        Some(&live),
        "bert",
        &json!({ "spec": { "items": [{ "name": "a", "size": 3 }] } }),
    );
    assert_eq!(object["spec"]["items"], json!([{ "name": "a", "size": 3 }, { "name": "b" }]));
    let at = |name: &str| {
        vec![
            Element::field("spec"),
            Element::field("items"),
            Element::Key(
                [("name".to_owned(), fairway_sandbox::apply::Canonical::new(&json!(name)))].into(),
            ),
        ]
    };
    assert!(paths(&twice).contains(&at("a")));
}
