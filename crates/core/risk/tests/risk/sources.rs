//! Risks that the state of the cluster causes.

use std::collections::BTreeMap;

use fairway_api::cluster_version::ComponentOverride;
use fairway_api::{ClusterOperator, OperatorCondition};
use fairway_fixtures::environment;
use fairway_risk::sources::{
    admin_gates, alerts, cluster_operators, deletions, overrides, updating,
};
use fairway_risk::{Ledger, ReportedRisk};
use serde_json::{Value, json};

use crate::support::*;

/// `Name [targets] from source: message url`, and the assessment.
fn described(reported_risks: &[ReportedRisk]) -> String {
    let described = reported_risks.iter().map(|ReportedRisk { risk, source, targets }| {
        let claim = risk.claim.as_ref().map(|claim| {
            format!("\n  Applies={} {}: {}", claim.status, claim.reason, claim.message)
        });
        format!(
            "{} {targets:?} from {source}: {} {}{}",
            risk.name,
            risk.message,
            risk.url,
            claim.unwrap_or_default()
        )
    });
    described.collect::<Vec<_>>().join("\n")
}

fn operator(name: &str, status: &Value) -> ClusterOperator {
    let object = json!({"metadata": {"name": name}, "spec": {}, "status": status});
    serde_json::from_value(object).unwrap()
}

fn not_upgradeable(name: &str, extension: &Value) -> ClusterOperator {
    let condition = json!({"type": "Upgradeable", "status": "False", "reason": "Busy", "message": "Wait for the migration."});
    operator(name, &json!({"conditions": [condition], "extension": extension}))
}

#[test]
fn upgradeable_false_blocks_minor_updates() {
    let condition = |status: &str, more: Value| {
        let mut condition = json!({"type": "Upgradeable", "status": status});
        condition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"conditions": [condition]})
    };
    let operators = [
        not_upgradeable("dns", &Value::Null),
        operator("reason", &condition("False", json!({"reason": "Busy"}))),
        operator("silent", &condition("False", json!({}))),
        operator("fine", &condition("True", json!({}))),
        operator("unsure", &condition("Unknown", json!({}))),
        operator("quiet", &json!({})),
    ];
    insta::assert_snapshot!(described(&cluster_operators(&operators)), @"
    ClusterOperatorUpgradeable-dns MinorOrMajor from the cluster operator dns: Wait for the migration. https://fairway.dev/docs/risks#cluster-operators
    ClusterOperatorUpgradeable-reason MinorOrMajor from the cluster operator reason: Cluster operator reason is not upgradeable: Busy. https://fairway.dev/docs/risks#cluster-operators
    ClusterOperatorUpgradeable-silent MinorOrMajor from the cluster operator silent: Cluster operator silent is not upgradeable; its condition has no message. https://fairway.dev/docs/risks#cluster-operators
    ");
}

#[test]
fn risk_report_replaces_upgradeable_for_its_targets() {
    let report = json!({"kind": "RiskReport", "version": "v1", "risks": [
        {"name": "OldOperators", "message": "Some operators do not run on 4.8.", "url": "https://example.com/old", "targets": ">=4.8.0"},
        {"name": "Everywhere", "message": "This concerns all updates."},
        {"name": "Confused", "message": "Something is wrong.", "targets": "soon"},
    ]});
    insta::assert_snapshot!(described(&cluster_operators(&[not_upgradeable("olm", &report)])), @r#"
    OldOperators Range(VersionRange { text: ">=4.8.0", alternatives: [[AtLeast(Version(Version { major: 4, minor: 8, patch: 0 }))]] }) from the risk report of olm: Some operators do not run on 4.8. https://example.com/old
    Everywhere All from the risk report of olm: This concerns all updates. https://fairway.dev/docs/risks#risk-reports
    Confused All from the risk report of olm: Something is wrong. The risk applies to all updates, because its targets are invalid: "soon" is not a comparison such as >=5.2.0, <5.4, ~5.2.1, ^5.2.0 or 5.2.x. https://fairway.dev/docs/risks#risk-reports
    "#);
    let ranged = json!({"kind": "RiskReport", "version": "v1", "risks": [
        {"name": "OldOperators", "message": "Some operators do not run on 4.8.", "targets": ">=4.8.0 <4.10"},
        {"name": "Wrong name", "message": "An invalid risk covers nothing.", "targets": ">=4.7.0"},
    ]});
    let risks = cluster_operators(&[not_upgradeable("olm", &ranged)]);
    let ledger = Ledger::new(CURRENT, vec![], risks);
    let blockers = |version: &str| {
        let verdict = ledger.verdict(&release(version), TestInput::default().input());
        let names = verdict.exposures.into_iter().map(|risk| risk.name);
        names.filter(|name| !name.starts_with("InvalidRisk-")).collect::<Vec<_>>().join(", ")
    };
    for (version, expected) in [
        ("4.6.30", ""),
        ("4.7.4", "ClusterOperatorUpgradeable-olm"),
        // The release is covered, the pre-release before it may not be.
        ("4.8.0-rc.1", "ClusterOperatorUpgradeable-olm, OldOperators"),
        ("4.8.0", "OldOperators"),
        ("4.9.7", "OldOperators"),
        ("4.10.0", "ClusterOperatorUpgradeable-olm"),
        ("odd", "ClusterOperatorUpgradeable-olm, OldOperators"),
    ] {
        assert_eq!(blockers(version), expected, "{version}");
    }
    let empty = json!({"kind": "RiskReport", "version": "v1", "risks": []});
    let kept = cluster_operators(&[not_upgradeable("olm", &empty)]);
    assert_eq!(kept[0].risk.name, "ClusterOperatorUpgradeable-olm");
    let other = json!({"kind": "SomethingElse", "risks": 5});
    assert_eq!(cluster_operators(&[not_upgradeable("olm", &other)]).len(), 1);
}

#[test]
fn invalid_report_is_a_risk() {
    let report = |rest: Value| {
        let mut report = json!({"kind": "RiskReport"});
        report.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        cluster_operators(&[operator("olm", &json!({"extension": report}))])
    };
    let huge = json!({"version": "v1", "risks": [{"name": "A", "message": "x".repeat(100_000)}]});
    let many = json!({"version": "v1", "risks": vec![json!({"name": "A"}); 51]});
    let texts = [
        report(json!({})),
        report(json!({"version": "v2"})),
        report(json!({"version": "v1", "risks": {"name": "A"}})),
        report(huge),
        report(many),
    ]
    .map(|reported_risks| reported_risks[0].risk.message.clone());
    insta::assert_snapshot!(texts.join("\n"), @r#"
    Cannot read the risk report of cluster operator olm: it has no `version`.
    Cannot read the risk report of cluster operator olm: unsupported version "v2"; the supported version is v1.
    Cannot read the risk report of cluster operator olm: `risks` is not a list.
    Cannot read the risk report of cluster operator olm: 100072 bytes exceed the limit of 65536 bytes.
    Cannot read the risk report of cluster operator olm: it has 51 risks; the limit is 50.
    "#);
    let kept = json!({"kind": "RiskReport"});
    assert_eq!(cluster_operators(&[not_upgradeable("olm", &kept)]).len(), 2, "both are reported");

    let odd = report(json!({"version": "v1", "risks": [5, {"name": 7}, {}]}));
    let ledger = Ledger::new(CURRENT, vec![candidate("4.6.30", vec![])], odd);
    assert_eq!(ledger.evaluate(TestInput::default().input()).available_updates, []);
}

#[test]
fn unacknowledged_gates_block_minor_updates() {
    let data = |entries: &[(&str, &str)]| {
        let owned = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect::<BTreeMap<_, _>>()
    };
    let gates = data(&[
        ("ack-4.6-apis", "APIs are removed. See https://example.com/apis."),
        ("ack-4.6-confirmed", "Confirmed."),
        ("ack-4.6-denied", "Denied."),
        ("ack-4.6-empty", " "),
        ("ack-4.7-later", "Not yet."),
        ("ack-4.6--x", "Odd."),
        ("nonsense", "Odd."),
    ]);
    let acks = data(&[("ack-4.6-confirmed", "true"), ("ack-4.6-denied", "yes")]);
    insta::assert_snapshot!(described(&admin_gates(CURRENT, Ok(&gates), Ok(&acks))), @r#"
    AdminAck-ack-4.6--x MinorOrMajor from the admin gates: Admin gate ack-4.6--x in ConfigMap openshift-config-managed/admin-gates has an invalid name: expected ack-X.Y-WHAT. To acknowledge: kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-4.6--x":"true"}}' https://fairway.dev/docs/risks#admin-gates
    AdminAck-ack-4.6-apis MinorOrMajor from the admin gates: APIs are removed. See https://example.com/apis. To acknowledge: kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-4.6-apis":"true"}}' https://example.com/apis
    AdminAck-ack-4.6-denied MinorOrMajor from the admin gates: Denied. To acknowledge: kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-4.6-denied":"true"}}' https://fairway.dev/docs/risks#admin-gates
    AdminAck-ack-4.6-empty MinorOrMajor from the admin gates: Admin gate ack-4.6-empty in ConfigMap openshift-config-managed/admin-gates has no description. To acknowledge: kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-4.6-empty":"true"}}' https://fairway.dev/docs/risks#admin-gates
    AdminAck-nonsense MinorOrMajor from the admin gates: Admin gate nonsense in ConfigMap openshift-config-managed/admin-gates has an invalid name: expected ack-X.Y-WHAT. To acknowledge: kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"nonsense":"true"}}' https://fairway.dev/docs/risks#admin-gates
    "#);

    insta::assert_snapshot!(described(&admin_gates(CURRENT, Err("not found"), Ok(&acks))), @"
    AdminAckUnknown MinorOrMajor from the admin gates: Cannot determine whether an administrator has to acknowledge an admin gate before an update to a later minor or major version. https://fairway.dev/docs/risks#admin-gates
      Applies=Unknown EvaluationFailed: Cannot read ConfigMap openshift-config-managed/admin-gates: not found.
    ");
    insta::assert_snapshot!(described(&admin_gates(CURRENT, Ok(&gates), Err("not found"))), @"
    AdminAckUnknown MinorOrMajor from the admin gates: Cannot determine whether an administrator has to acknowledge an admin gate before an update to a later minor or major version. https://fairway.dev/docs/risks#admin-gates
      Applies=Unknown EvaluationFailed: Cannot read ConfigMap openshift-config/admin-acks: not found.
    ");
    assert_eq!(admin_gates(CURRENT, Ok(&data(&[("ack-4.7-later", "x")])), Err("not found")), []);
    assert_eq!(admin_gates("odd", Ok(&data(&[("ack-4.7-later", "x")])), Ok(&acks)).len(), 1);
    let many: BTreeMap<String, String> =
        (0..60).map(|number| (format!("ack-4.6-{number}"), "x".to_owned())).collect();
    let reported_risks = admin_gates(CURRENT, Ok(&many), Ok(&acks));
    insta::assert_snapshot!(described(&reported_risks[50..]), @"AdminAck-more MinorOrMajor from the admin gates: 10 more admin gates are not acknowledged. https://fairway.dev/docs/risks#admin-gates");
}

#[test]
fn overrides_and_updates_in_progress_block_minor_updates() {
    let object = |number: usize, unmanaged| ComponentOverride {
        kind: "Deployment".into(),
        namespace: if number == 0 { String::new() } else { "openshift-dns".into() },
        name: format!("object-{number}"),
        unmanaged,
        ..ComponentOverride::default()
    };
    assert_eq!(overrides(&[object(0, false)]), None);
    let two = overrides(&[object(0, true), object(1, true), object(2, false)]).unwrap();
    insta::assert_snapshot!(described(&[two]), @"ClusterVersionOverrides MinorOrMajor from spec.overrides: spec.overrides excludes objects from management, so an update to a later minor or major version would not change them: Deployment object-0, Deployment openshift-dns/object-1. Remove the overrides before such an update. https://fairway.dev/docs/risks#overrides");
    let many: Vec<_> = (0..9).map(|number| object(number, true)).collect();
    assert!(overrides(&many).unwrap().risk.message.contains("and 4 more."));

    let progressing = |status| [OperatorCondition::new("Progressing", status)];
    assert_eq!(updating(&[]), None);
    assert_eq!(updating(&progressing(false)), None);
    insta::assert_snapshot!(described(&[updating(&progressing(true)).unwrap()]), @"ClusterVersionUpdating MinorOrMajor from the update in progress: An update is in progress; see the condition Progressing. Until it completes, only updates to patch releases are recommended. https://fairway.dev/docs/risks#update-in-progress");
}

#[test]
fn deletions_block_minor_updates() {
    assert_eq!(deletions(&[]), None);
    let objects: Vec<String> = (1..=7).map(|number| format!("secret \"a/{number}\"")).collect();
    let some = [deletions(&objects[..2]).unwrap(), deletions(&objects).unwrap()];
    insta::assert_snapshot!(described(&some), @r#"
    ResourceDeletionInProgress MinorOrMajor from the deletions in progress: The operator is still deleting objects that the release removes: secret "a/1", secret "a/2". Until it has deleted them, only updates to patch releases are recommended. https://fairway.dev/docs/risks#deletions-in-progress
    ResourceDeletionInProgress MinorOrMajor from the deletions in progress: The operator is still deleting objects that the release removes: secret "a/1", secret "a/2", secret "a/3", secret "a/4", secret "a/5" and 2 more. Until it has deleted them, only updates to patch releases are recommended. https://fairway.dev/docs/risks#deletions-in-progress
    "#);
}

fn alert(name: &str, labels: &[(&str, &str)], state: &str) -> Value {
    let mut all = json!({"alertname": name, "namespace": "openshift-x"});
    for (label, value) in labels {
        all[*label] = json!(value);
    }
    json!({
        "labels": all,
        "annotations": {"summary": format!("{name} is unwell"), "description": "Look at it."},
        "state": state,
        "activeAt": "2021-08-27T23:00:54.844366438Z",
    })
}

fn answer(alerts: &[Value]) -> Vec<u8> {
    json!({"status": "success", "data": {"alerts": alerts}}).to_string().into_bytes()
}

#[test]
fn relevant_alerts_are_risks() {
    let mut runbook = alert("Critical", &[("severity", "critical")], "firing");
    runbook["annotations"]["runbook_url"] = json!("https://example.com/runbook");
    let mut again = alert("Critical", &[("severity", "critical"), ("pod", "b")], "firing");
    again["activeAt"] = json!("2021-08-27T22:00:00Z");
    again["annotations"] = json!({"summary": "Critical is unwell", "message": "Elsewhere."});
    let list = [
        runbook,
        again,
        alert("Critical", &[("severity", "critical")], "pending"),
        alert(
            "PodDisruptionBudgetAtLimit",
            &[("severity", "warning"), ("poddisruptionbudget", "web")],
            "firing",
        ),
        alert("KubeNodeNotReady", &[("severity", "warning")], "firing"),
        alert("Precheck", &[("openShiftUpdatePrecheck", "true")], "firing"),
        alert("Harmless", &[("severity", "warning")], "firing"),
    ];
    let reported_risks = alerts(&answer(&list)).unwrap();
    insta::assert_snapshot!(described(&reported_risks), @"
    Critical All from the alerts: Critical is unwell. https://example.com/runbook
      Applies=True Alert:firing: critical alert Critical firing, suggesting significant cluster issues worth investigating. Critical is unwell. The alert description is: Elsewhere. https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound; critical alert Critical firing, suggesting significant cluster issues worth investigating. Critical is unwell. The alert description is: Look at it. https://example.com/runbook
    KubeNodeNotReady All from the alerts: KubeNodeNotReady is unwell. https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound
      Applies=True Alert:firing: warning alert KubeNodeNotReady firing, which may slow workload redistribution during rolling node updates. KubeNodeNotReady is unwell. The alert description is: Look at it. https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound
    PodDisruptionBudgetAtLimit All from the alerts: PodDisruptionBudgetAtLimit is unwell. https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound
      Applies=True Alert:firing: warning alert PodDisruptionBudgetAtLimit firing, which might slow node drains. Namespace=openshift-x, PodDisruptionBudget=web. PodDisruptionBudgetAtLimit is unwell. The alert description is: Look at it. https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound
    Precheck All from the alerts: Precheck is unwell. https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound
      Applies=True Alert:firing: alert Precheck firing, suggesting issues worth investigating before updating the cluster. Precheck is unwell. The alert description is: Look at it. https://github.com/openshift/runbooks/tree/master/alerts?runbook=notfound
    ");
    assert_eq!(
        reported_risks[0].risk.claim.as_ref().unwrap().since.unwrap().to_string(),
        "2021-08-27T22:00:00Z"
    );
    let mut reversed = list.to_vec();
    reversed.reverse();
    assert_eq!(alerts(&answer(&reversed)).unwrap(), reported_risks);
}

#[test]
fn invalid_alerts_fail() {
    let refusals = [
        alerts(b"no"),
        alerts(br#"{"status": "success", "data": {"alerts": [{"labels": 5}]}}"#),
        alerts(br#"{"status": "error", "error": "shutting down"}"#),
        alerts(&vec![b' '; 17 << 20]),
    ]
    .map(|refused| refused.unwrap_err().to_string());
    insta::assert_snapshot!(refusals.join("\n"), @"
    cannot parse the list of alerts: expected ident at line 1 column 2
    cannot parse the list of alerts: invalid type: integer `5`, expected a map at line 1 column 54
    the metrics server returned no list of alerts: shutting down
    the list of alerts has 17825792 bytes; the limit is 16777216 bytes
    ");
}

#[test]
fn alerts_beyond_limit_are_counted() {
    let many: Vec<Value> = (0..103)
        .map(|number| alert(&format!("Alert{number:03}"), &[("severity", "critical")], "firing"))
        .collect();
    let reported_risks = alerts(&answer(&many)).unwrap();
    insta::assert_snapshot!(described(&reported_risks[100..]), @"
    MoreAlerts All from the alerts: 3 more firing alerts to investigate before an update: Alert100, Alert101, Alert102 https://fairway.dev/docs/risks#alerts
      Applies=True Alert:firing: 3 more firing alerts to investigate before an update: Alert100, Alert101, Alert102
    ");
}

#[test]
fn alerts_of_recorded_cluster() {
    let Some(folder) = environment::conformance("oc") else { return };
    let file = folder.join("recommend/4.16.27-degraded-monitoring-alerts.json");
    let reported_risks = alerts(&std::fs::read(file).unwrap()).unwrap();
    let names: Vec<&str> =
        reported_risks.iter().map(|reported_risk| reported_risk.risk.name.as_str()).collect();
    assert_eq!(names, ["ClusterOperatorDown", "PodDisruptionBudgetAtLimit"]);
    let expected =
        std::fs::read_to_string(folder.join("recommend/4.16.27-degraded-monitoring.output"))
            .unwrap();
    for reported_risk in reported_risks {
        let claim = reported_risk.risk.claim.unwrap();
        assert!(
            expected.contains(&format!("Reason: {}\n  Message: {}\n", claim.reason, claim.message)),
            "{}",
            claim.message
        );
    }
}
