use std::sync::Arc;

use serde_json::{Value, json};

use super::graph::{FOREGROUND, GarbageAction, Graph, GraphNode, ORPHAN, OwnerState, plan};
use crate::api::Propagation;
use crate::catalog::{Catalog, Resource};

fn config_maps() -> Arc<Resource> {
    Arc::clone(Catalog::default().kind("", "ConfigMap").unwrap())
}

fn owner(uid: &str, blocks: bool) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": uid, "blockOwnerDeletion": blocks })
}

fn node(uid: &str, owners: &[&str], extra: &Value) -> GraphNode {
    let owners: Vec<_> = owners.iter().map(|uid| owner(uid, true)).collect();
    let mut metadata =
        json!({ "name": uid, "namespace": "n", "uid": uid, "ownerReferences": owners });
    json_patch::merge(&mut metadata, extra);
    GraphNode::new(&config_maps(), &json!({ "metadata": metadata })).unwrap()
}

fn deleting(finalizer: &str) -> Value {
    json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [finalizer, "other"] })
}

#[test]
fn plan_with_solid_owner_keeps_object() {
    use OwnerState::{Dangling, Solid, Unknown, WaitingForDependents};
    let delete = |how| vec![GarbageAction::Delete(how)];
    let disown = |uids: &[&str]| {
        vec![GarbageAction::RemoveOwners(uids.iter().map(|&uid| uid.to_owned()).collect())]
    };
    let (background, foreground) = (Propagation::Background, Propagation::Foreground);
    for (owners, has_dependents, expected) in [
        (&[][..], false, vec![]),
        (&[Solid], false, vec![]),
        (&[Dangling], false, delete(background)),
        (&[Dangling], true, delete(background)),
        (&[Unknown], false, vec![]),
        (&[Dangling, Unknown], false, vec![]),
        (&[Solid, Unknown], false, vec![]),
        (&[Solid, Dangling], false, disown(&["1"])),
        (&[Dangling, Solid, WaitingForDependents], true, disown(&["0", "2"])),
        (&[Dangling, Dangling], false, delete(background)),
        (&[WaitingForDependents], false, delete(background)),
        (&[WaitingForDependents], true, delete(foreground)),
        (&[WaitingForDependents, Dangling], true, delete(foreground)),
    ] {
        let uids: Vec<_> = (0..owners.len()).map(|index| index.to_string()).collect();
        let subject = node("x", &uids.iter().map(String::as_str).collect::<Vec<_>>(), &json!({}));
        let dependent = node("y", &["x"], &json!({}));
        let dependents: &[&GraphNode] = if has_dependents { &[&dependent] } else { &[] };
        assert_eq!(plan(&subject, owners, dependents), expected, "{owners:?} {has_dependents}");
    }
}

#[test]
fn plan_without_owner_propagates_by_finalizer() {
    for (finalizer, expected) in [
        (ORPHAN, Propagation::Orphan),
        (FOREGROUND, Propagation::Foreground),
        ("other", Propagation::Background),
    ] {
        let subject = node("x", &["o"], &json!({ "finalizers": [finalizer] }));
        assert_eq!(
            plan(&subject, &[OwnerState::Dangling], &[]),
            [GarbageAction::Delete(expected)],
            "{finalizer}"
        );
    }
}

#[test]
fn plan_with_cycle_unblocks_dependents() {
    let dependent = node("y", &["x"], &deleting(FOREGROUND));
    let subject = node("x", &["y"], &json!({}));
    assert_eq!(
        plan(&subject, &[OwnerState::WaitingForDependents], &[&dependent]),
        [GarbageAction::Unblock("y".to_owned()), GarbageAction::Delete(Propagation::Foreground)]
    );
}

#[test]
fn graph_changes_return_affected_uids() {
    let mut graph = Graph::default();
    let none: [&str; 0] = [];
    assert_eq!(graph.observe(node("child", &["parent"], &json!({}))), ["child"]);
    assert_eq!(graph.observe(node("child", &["parent"], &json!({}))), none, "unchanged");
    assert_eq!(graph.observe(node("parent", &[], &json!({}))), none, "no owner and not deleting");
    assert_eq!(
        graph.observe(node("parent", &[], &deleting(FOREGROUND))),
        ["parent", "child"],
        "what it owns has to go first"
    );
    assert_eq!(graph.dependents("parent").count(), 1);
    assert_eq!(graph.observe(node("child", &[], &json!({}))), ["parent"]);
    assert_eq!(graph.dependents("parent").count(), 0);
    graph.observe(node("child", &["parent"], &json!({})));
    assert_eq!(graph.remove("parent"), ["child"]);
    assert_eq!(graph.remove("child"), ["parent"]);
    assert_eq!(graph.remove("child"), none);
    assert_eq!(graph.dependents("parent").count(), 0);
}

#[test]
fn graph_node_without_uid_is_none() {
    for object in
        [json!(null), json!({}), json!({ "metadata": {} }), json!({ "metadata": { "uid": 5 } })]
    {
        assert_eq!(GraphNode::new(&config_maps(), &object), None, "{object}");
    }
    let strange =
        json!({ "metadata": { "uid": "x", "ownerReferences": [5, "y"], "finalizers": "no" } });
    assert_eq!(GraphNode::new(&config_maps(), &strange).unwrap().owners, []);
}
