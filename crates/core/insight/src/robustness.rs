//! Reports on objects with arbitrary values.

use fairway_api::Version;
use fairway_risk::evaluations::Evaluations;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::alerts::{self, Alerts};
use crate::explain::{ExplainInput, Explanation, StoredEvaluations, Subject};
use crate::fleet::{ClusterSnapshot, FleetMember};
use crate::recommend::{RecommendQuery, Recommendation};
use crate::{ClusterObjects, FleetReport, ObservationTime, Status};

/// Objects with a value in every field that reports read.
fn everything() -> Value {
    let time = "2026-01-01T00:00:00Z";
    let prefix = "machineconfiguration.openshift.io";
    let risk = json!({"name": "Slow", "message": "Slow.", "url": "u",
                      "matchingRules": [{"type": "PromQL", "promql": {"promql": "up"}}, {"type": "Always"}],
                      "conditions": [{"type": "Applies", "status": "True", "lastTransitionTime": time, "reason": "A", "message": "B"}]});
    let release = json!({"version": "5.2.1", "image": "b@sha256:1", "url": "u", "channels": ["c"]});
    let conditions = ["Available", "Progressing", "Degraded", "Failing", "Upgradeable", "ReleaseAccepted"]
        .map(|type_| json!({"type": type_, "status": "False", "reason": "R", "message": "M", "lastTransitionTime": time}));
    let entry = json!({"state": "Completed", "version": "5.1.0", "image": "a", "startedTime": time, "completionTime": time});
    let progressing = json!({"type": "Progressing", "status": "True", "message": "M", "lastTransitionTime": time});
    json!({
        "version": {
            "metadata": {"name": "version", "generation": 2},
            "spec": {"clusterID": "", "channel": "c", "upstream": "u", "desiredUpdate": {"version": "5.3.0", "image": "c"}},
            "status": {
                "desired": {"version": "5.2.0", "image": "a", "channels": ["c"]},
                "observedGeneration": 1,
                "history": [entry, entry, entry],
                "conditions": [progressing, conditions[3], conditions[4], conditions[5]],
                "availableUpdates": [release],
                "conditionalUpdates": [{"release": release, "risks": [risk], "riskNames": ["Slow"],
                    "conditions": [{"type": "Recommended", "status": "False", "reason": "A", "message": "B"}]}],
                "conditionalUpdateRisks": [risk],
            },
        },
        "operators": [{
            "metadata": {"name": "machine-config", "annotations": {"include.release.openshift.io/x": "true"}},
            "spec": {},
            "status": {"conditions": [conditions[0], progressing, conditions[2]],
                       "versions": [{"name": "operator", "version": "5.1.0"}, {"name": "operator-image", "version": "x"}]},
        }],
        "pools": [{
            "metadata": {"name": "worker", "labels": {format!("{prefix}/layering-enabled"): ""},
                         "annotations": {format!("{prefix}/newestImageEquivalentConfig"): "i"}},
            "spec": {"paused": true, "configuration": {"name": "new"},
                     "nodeSelector": {"matchLabels": {"w": ""}, "matchExpressions": [{"key": "w", "operator": "In", "values": [""]}]}},
        }],
        "configs": [{"metadata": {"name": "new", "annotations": {format!("{prefix}/release-image-version"): "5.1.0"}}}],
        "nodes": [{
            "metadata": {"name": "worker-0", "labels": {"w": ""}, "annotations": {
                format!("{prefix}/currentConfig"): "new", format!("{prefix}/desiredConfig"): "new",
                format!("{prefix}/desiredImage"): "i", format!("{prefix}/state"): "Degraded",
                format!("{prefix}/reason"): "worker-0", format!("{prefix}/desiredDrain"): "drain-x",
                format!("{prefix}/lastAppliedDrain"): "x"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "False", "message": "m", "lastTransitionTime": time}]},
        }],
        "evaluations": {"version": 1, "omitted": 1, "queries": [{"query": "up", "outcome": "matches", "at": time,
            "next": time, "series": 1, "samples": [{"labels": {"a": "b"}, "value": "1"}]}]},
        "alerts": {"status": "success", "data": {"alerts": [{
            "labels": {"alertname": "PodDisruptionBudgetAtLimit", "severity": "critical", "namespace": "n"},
            "annotations": {"summary": "s", "description": "d", "message": "m", "runbook_url": "r"},
            "state": "firing", "activeAt": time}]}},
    })
}

/// Computes all reports, `None` if the objects cannot be read.
fn reports(objects: &Value, now: Timestamp) -> Option<()> {
    fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Option<T> {
        serde_json::from_value(value.clone()).ok()
    }
    let alerts = match alerts::read(objects["alerts"].to_string().as_bytes()) {
        Ok(alerts) => Alerts::Known(alerts),
        Err(error) => Alerts::Unreadable(error.to_string()),
    };
    let cluster = ClusterObjects {
        version: read(&objects["version"])?,
        operators: read(&objects["operators"])?,
        pools: read(&objects["pools"])?,
        configs: read(&objects["configs"])?,
        nodes: read(&objects["nodes"])?,
        node_operator_image: Some("y".to_owned()),
        alerts,
    };
    for observation in [
        ObservationTime::Live(now),
        ObservationTime::of_recording(&cluster.version, &cluster.operators),
    ] {
        if let Ok(status) = Status::of(&cluster, observation) {
            let _ = status.has_problems();
            assert!(serde_json::to_string(&status).is_ok());
        }
        let (version, alerts) = (&cluster.version, &cluster.alerts);
        let report =
            Recommendation::of(version, alerts, &RecommendQuery::default(), observation.now());
        let _ = report.verdict();
        assert!(serde_json::to_string(&report).is_ok());
        let snapshot = ClusterSnapshot {
            version: version.clone(),
            preflights: Vec::new(),
            preflights_unread: None,
            now: observation.now(),
        };
        let fleet = [FleetMember { name: "a".to_owned(), snapshot: Ok(snapshot) }];
        for targets in [vec![], vec!["5.2.1".parse().ok()?]] {
            let report = FleetReport::of(&fleet, &targets);
            assert!(report.readiness().is_some());
            assert!(serde_json::to_string(&report).is_ok());
        }
        explanations(&cluster, objects, observation.now());
    }
    Some(())
}

fn explanations(cluster: &ClusterObjects, objects: &Value, now: Timestamp) {
    let evaluations = match Evaluations::read(&objects["evaluations"].to_string()) {
        Ok(evaluations) => StoredEvaluations::Known(evaluations),
        Err(error) => StoredEvaluations::Unreadable(error.to_string()),
    };
    let (version, components) = (&cluster.version, &cluster.operators);
    let input = ExplainInput { version, components, evaluations: &evaluations, graph: None };
    let update = |version: &str| Version::parse(version).ok().map(Subject::Update);
    let updates = [update("5.2.1"), update("5.99.0")].into_iter().flatten();
    for subject in updates.chain([Subject::Risk("Slow".to_owned())]) {
        let explanation = Explanation::of(&subject, &input, now);
        let _ = explanation.verdict();
        assert!(serde_json::to_string(&explanation).is_ok());
    }
}

/// JSON pointers of all values in `value`.
fn paths(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                paths(field, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                paths(item, &format!("{path}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn reports_with_arbitrary_field_values_do_not_panic() {
    let everything = everything();
    let mut all = Vec::new();
    paths(&everything, "", &mut all);
    let values = [
        json!(null),
        json!(""),
        json!("5.99999999999.0"),
        json!("True"),
        json!("-009999-01-02T01:59:59Z"),
        json!("9999-12-30T22:00:00.999999999Z"),
        json!("\u{1b}[2J\n"),
        json!(-1),
        json!(1e300),
        json!([]),
        json!({}),
    ];
    assert!(reports(&everything, Timestamp::MAX).is_some(), "it can be read as it is");
    let mut read = 0;
    for path in &all {
        for value in &values {
            let mut changed = everything.clone();
            if let Some(place) = changed.pointer_mut(path) {
                *place = value.clone();
            }
            for now in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
                read += reports(&changed, now).iter().count();
            }
        }
    }
    assert!(read > all.len(), "{read} of {} could be read", all.len());
}
