//! Round trips preserve all fields, known or unknown.

use fairway_api::cluster_version::{Architecture, UpdateMode};
use fairway_api::{ClusterOperator, ClusterVersion};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn round_trip<T: DeserializeOwned + Serialize>(object: &Value) -> Value {
    serde_json::to_value(serde_json::from_value::<T>(object.clone()).unwrap()).unwrap()
}

#[test]
fn unknown_fields_survive_at_every_level() {
    let version = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": { "name": "version" },
        "spec": {
            "clusterID": "c",
            "novelty": 1,
            "desiredUpdate": {
                "version": "5.1.0", "novelty": [1], "mode": "Rehearsal",
                "acceptRisks": [{ "name": "A", "novelty": true }],
            },
            "capabilities": { "baselineCapabilitySet": "None", "novelty": {} },
            "signatureStores": [{ "url": "https://a.example", "ca": { "name": "n", "novelty": 0 }, "novelty": "" }],
            "overrides": [{ "kind": "k", "group": "", "namespace": "", "name": "n", "unmanaged": true, "novelty": 2.5 }],
        },
        "status": {
            "desired": { "version": "5.0.0", "image": "i", "novelty": null },
            "history": [{ "state": "Paused", "startedTime": "2026-01-01T00:00:00Z", "completionTime": null, "image": "i", "verified": false, "novelty": 1 }],
            "observedGeneration": 1,
            "versionHash": "h",
            "availableUpdates": null,
            "capabilities": { "knownCapabilities": ["a"], "novelty": 1 },
            "conditions": [{ "type": "Available", "status": "Maybe", "novelty": 1 }],
            "conditionalUpdates": [{
                "release": { "version": "5.1.0", "image": "j" },
                "risks": [{
                    "name": "A", "message": "m", "url": "https://a.example", "novelty": 1,
                    "matchingRules": [{ "type": "Oracle", "oracle": { "question": "?" } },
                                      { "type": "PromQL", "promql": { "promql": "up", "novelty": 1 } }],
                    "conditions": [{ "type": "Applies", "status": "True", "reason": "R", "message": "m", "novelty": 1 }],
                }],
                "novelty": 1,
            }],
            "conditionalUpdateRisks": [{ "name": "A", "message": "m", "url": "u", "matchingRules": [], "novelty": 1 }],
            "novelty": { "deep": [1, 2] },
        },
    });
    assert_eq!(round_trip::<ClusterVersion>(&version), version);

    let operator = json!({
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterOperator",
        "metadata": { "name": "dns" },
        "spec": { "novelty": 1 },
        "status": {
            "extension": { "kind": "RiskReport" },
            "versions": [{ "name": "operator", "version": "", "novelty": 1 }],
            "relatedObjects": [{ "group": "", "resource": "namespaces", "name": "", "novelty": 1 }],
            "novelty": 1,
        },
    });
    assert_eq!(round_trip::<ClusterOperator>(&operator), operator);
}

#[test]
fn empty_and_missing_signature_stores_differ() {
    for spec in [json!({ "clusterID": "c", "signatureStores": [] }), json!({ "clusterID": "c" })] {
        let version = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
            "metadata": {}, "spec": spec,
        });
        assert_eq!(round_trip::<ClusterVersion>(&version), version);
    }
}

#[test]
fn null_and_missing_extensions_differ() {
    for status in [json!({ "extension": null }), json!({})] {
        let operator = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
            "metadata": {}, "spec": {}, "status": status,
        });
        assert_eq!(round_trip::<ClusterOperator>(&operator), operator);
    }
}

#[test]
fn promql_key_is_read_in_both_spellings() {
    let rule = json!({ "type": "PromQL", "PromQL": { "PromQL": "up" } });
    let rule: fairway_api::cluster_version::MatchingRule = serde_json::from_value(rule).unwrap();
    let written = serde_json::to_value(&rule).unwrap();
    assert_eq!(written, json!({ "type": "PromQL", "promql": { "promql": "up" } }));
}

#[test]
fn update_with_mode_is_not_an_update() {
    let update = |mode: Value| -> fairway_api::cluster_version::Update {
        serde_json::from_value(json!({ "version": "5.1.0", "mode": mode })).unwrap()
    };
    assert!(update(Value::Null).is_update());
    assert!(!update(json!("Preflight")).is_update());
    assert!(!update(json!("Rehearsal")).is_update());
    assert!(!update(json!("")).is_update());
    assert_eq!(update(json!("Preflight")).mode, Some(UpdateMode::Preflight));
}

#[test]
fn merge_patch_replaces_whole_request() {
    let update = fairway_api::cluster_version::Update {
        version: Some("5.2.0".into()),
        ..Default::default()
    };
    let patch = update.merge_patch().unwrap();
    let nothing = Value::Null;
    assert_eq!(
        patch,
        json!({ "version": "5.2.0", "architecture": nothing, "image": nothing, "force": nothing,
                "acceptRisks": nothing, "mode": nothing })
    );
}

#[test]
fn accepted_risks_alone_are_not_an_update() {
    let update: fairway_api::cluster_version::Update =
        serde_json::from_value(json!({ "acceptRisks": [{ "name": "A" }] })).unwrap();
    assert!(!update.is_update());
}

#[test]
fn empty_fields_of_update_count_as_unset() {
    let update: fairway_api::cluster_version::Update =
        serde_json::from_value(json!({ "version": "", "image": "", "architecture": "" })).unwrap();
    assert_eq!((update.version(), update.image(), update.architecture()), (None, None, None));
    assert_eq!(update.architecture, Some(Architecture::Unset), "they are preserved");
}
