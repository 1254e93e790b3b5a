//! Tests for recommended updates and their issues.
#![expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]

use fairway_api::ClusterVersion;
use serde_json::{Value, json};

use super::*;
use crate::alerts;
use crate::status::tests::{at, object};

/// Cluster at 5.1.0 with these conditions and updates.
fn cluster(conditions: Value, available: Value, conditional: Value) -> ClusterVersion {
    object(json!({
        "metadata": {"name": "version"},
        "spec": {"clusterID": "", "channel": "stable-5.1"},
        "status": {
            "desired": {"version": "5.1.0", "image": "a"},
            "conditions": conditions,
            "availableUpdates": available,
            "conditionalUpdates": conditional,
        },
    }))
}

fn fine() -> Value {
    json!([{"type": "Failing", "status": "False"}, {"type": "RetrievedUpdates", "status": "True"}])
}

fn release(version: &str) -> Value {
    json!({"version": version, "image": format!("image-of-{version}")})
}

fn conditional(version: &str, risks: &[&str], recommended: Option<&str>) -> Value {
    let risk = |name: &&str| json!({"name": name, "message": format!("{name} it is."), "url": "u", "matchingRules": []});
    let conditions = recommended.map(|status| {
        json!({"type": "Recommended", "status": status, "reason": "Because", "message": "Long."})
    });
    json!({"release": release(version), "risks": risks.iter().map(risk).collect::<Vec<_>>(),
           "conditions": conditions.into_iter().collect::<Vec<_>>()})
}

fn none() -> Alerts {
    Alerts::Known(Vec::new())
}

fn firing(alerts: Value) -> Alerts {
    let json = json!({"status": "success", "data": {"alerts": alerts}});
    Alerts::Known(alerts::read(json.to_string().as_bytes()).unwrap())
}

fn all(cluster: &ClusterVersion) -> Vec<String> {
    let report = Recommendation::of(cluster, &none(), &RecommendQuery::default(), at(0));
    let RecommendResult::All { updates, .. } = report.result else { panic!() };
    let message_of = |one: &Target| {
        let Target { version, recommended, reason, message, risks, .. } = one;
        format!("{version} {recommended} {reason:?} {message:?} {risks:?}")
    };
    updates.iter().map(message_of).collect()
}

fn about(
    cluster: &ClusterVersion,
    alerts: &Alerts,
    version: &str,
    accept: &[&str],
) -> Recommendation {
    let version = Some(Version::parse(version).unwrap());
    let accept = accept.iter().map(|name| (*name).to_owned()).collect();
    Recommendation::of(cluster, alerts, &RecommendQuery { version, accept }, at(0))
}

#[test]
fn updates_are_sorted_latest_first() {
    let available =
        json!([release("5.1.2"), release("5.1.10"), release("5.1.3"), release("latest")]);
    let conditional = json!([
        conditional("5.1.3", &["A"], Some("True")),
        conditional("5.1.4", &["A", "B"], Some("Unknown")),
        conditional("5.2.0-rc.1", &["A"], None),
        conditional("5.2.0", &[], None),
        conditional("5.2.1", &[], Some("False")),
    ]);
    let cluster = cluster(fine(), available, conditional);
    insta::assert_snapshot!(all(&cluster).join("\n"), @r#"
    5.2.1 False Some("Because") Some("Long.") []
    5.2.0 True None None []
    5.2.0-rc.1 Unknown Some("NoConditions") Some("the exposure to its risks is unknown: A") ["A"]
    5.1.10 True None None []
    5.1.4 Unknown Some("Because") Some("Long.") ["A", "B"]
    5.1.3 True None None []
    5.1.2 True None None []
    "#);
    let report = Recommendation::of(&cluster, &none(), &RecommendQuery::default(), at(0));
    assert_eq!(report.invalid_versions, ["latest"]);
    assert_eq!(report.verdict(), Verdict::Yes, "a list is a result");
}

#[test]
fn upgradeable_false_blocks_other_minor_versions() {
    let mut conditions = fine();
    let message = "Operators have to move first.";
    conditions.as_array_mut().unwrap().push(
        json!({"type": "Upgradeable", "status": "False", "reason": "Operators", "message": message}),
    );
    let mut repeated = conditional("5.3.0", &["A"], Some("False"));
    repeated["risks"][0]["message"] = format!("And: {message}").into();
    let cluster = cluster(
        conditions,
        json!([release("5.1.2"), release("5.2.0"), release("6.0.0"), release("4.9.0")]),
        json!([
            conditional("5.2.1", &["A"], Some("True")),
            conditional("5.2.2", &["A"], Some("Unknown")),
            conditional("5.1.3", &["A"], Some("False")),
            conditional("5.2.3", &["A"], None),
            conditional("5.2.4", &["A"], Some("False")),
            repeated,
        ]),
    );
    insta::assert_snapshot!(all(&cluster).join("\n"), @r#"
    6.0.0 False Some("Operators") Some("Operators have to move first.") ["UpgradeableFalse"]
    5.3.0 False Some("Because") Some("Long.") ["A"]
    5.2.4 False Some("MultipleReasons") Some("Operators have to move first.\n\nLong.") ["A", "UpgradeableFalse"]
    5.2.3 False Some("Operators") Some("Operators have to move first.") ["A", "UpgradeableFalse"]
    5.2.2 False Some("MultipleReasons") Some("Operators have to move first.\n\nLong.") ["A", "UpgradeableFalse"]
    5.2.1 False Some("Operators") Some("Operators have to move first.") ["UpgradeableFalse"]
    5.2.0 False Some("Operators") Some("Operators have to move first.") ["UpgradeableFalse"]
    5.1.3 False Some("Because") Some("Long.") ["A"]
    5.1.2 True None None []
    4.9.0 True None None []
    "#);
}

/// Operators with a risk ledger report `Upgradeable=False` as a risk of updates.
#[test]
fn upgradeable_false_in_ledger_is_not_repeated() {
    let output = "AdminAck-ack-5.1-apis";
    let message_of = |reason: &str, message: String, published: &str| {
        let mut conditions = fine();
        conditions.as_array_mut().unwrap().push(
            json!({"type": "Upgradeable", "status": "False", "reason": reason, "message": message}),
        );
        let mut accepted = conditional("5.2.0", &[output, "Slow"], Some("True"));
        accepted["riskNames"] = json!([output, "Slow"]);
        let mut not = conditional("5.2.1", &[output], Some("False"));
        not["riskNames"] = json!([output]);
        let mut cluster = cluster(conditions, json!([release("5.2.0")]), json!([accepted, not]));
        let risk = json!({"name": published, "message": format!("{published} it is."), "url": "u",
                          "matchingRules": []});
        cluster.status.as_mut().unwrap().conditional_update_risks = object(json!([risk]));
        all(&cluster)
    };
    let once = [
        format!("5.2.1 False Some(\"Because\") Some(\"Long.\") [\"{output}\"]"),
        "5.2.0 True None None []".to_owned(),
    ];
    let line = format!("{output}: {output} it is.");
    assert_eq!(message_of("AdminAckRequired", line.clone(), output), once);
    assert_eq!(message_of("MultipleReasons", format!("Several:\n* A: B\n* {line}"), output), once);
    assert_eq!(message_of("Plain", "Plain it is.".to_owned(), "Plain"), once);
    let others_words = message_of("AdminAckRequired", "Confirm: APIs go.".to_owned(), output);
    assert!(others_words[1].contains("UpgradeableFalse"), "{others_words:?}");
}

#[test]
fn upgradeable_true_or_unknown_version_blocks_nothing() {
    let upgradeable_false = |status: &str, version: &str| {
        let mut conditions = fine();
        let output =
            json!({"type": "Upgradeable", "status": status, "reason": "R", "message": "M"});
        conditions.as_array_mut().unwrap().push(output);
        let mut cluster = cluster(conditions, json!([release("5.2.0")]), json!([]));
        cluster.status.as_mut().unwrap().desired.version = version.to_owned();
        all(&cluster).join("")
    };
    let fine = "5.2.0 True None None []";
    assert_eq!(upgradeable_false("True", "5.1.0"), fine);
    assert_eq!(upgradeable_false("Unknown", "5.1.0"), fine);
    assert_eq!(upgradeable_false("False", "none"), fine);
    assert_eq!(upgradeable_false("False", "5.3.0"), fine, "there it leads back");
    assert_ne!(upgradeable_false("False", "5.1.0-rc.1"), fine);
    assert_ne!(upgradeable_false("False", "4.19.0-okd-scos.16"), fine);
}

#[test]
fn updates_with_one_image_are_merged() {
    let mut same = release("5.1.2");
    same["image"] = json!("image-of-5.1.4");
    let conditional = json!([conditional("5.1.4", &["A"], Some("False"))]);
    let cluster = cluster(fine(), json!([same, release("5.1.4"), release("5.1.3")]), conditional);
    assert_eq!(
        all(&cluster),
        ["5.1.4 False Some(\"Because\") Some(\"Long.\") [\"A\"]", "5.1.3 True None None []"]
    );
}

#[test]
fn updates_are_sorted_by_semver() {
    let versions = [
        "4.19.0-okd-scos.9",
        "4.19.0-okd-scos.17",
        "4.19.0-okd-scos.ec.3",
        "4.19.0",
        "4.20.0-ec.2",
        "4.9.59",
        "4.19.10",
        "4.19.9",
        "4.19",
        "v4.19.1",
    ];
    let available: Vec<Value> = versions.map(release).to_vec();
    let report = Recommendation::of(
        &cluster(fine(), json!(available), json!([])),
        &none(),
        &RecommendQuery::default(),
        at(0),
    );
    let RecommendResult::All { updates, .. } = &report.result else { panic!() };
    let message_of: Vec<&str> = updates.iter().map(|one| one.version.as_str()).collect();
    insta::assert_snapshot!(message_of.join(" "), @"4.20.0-ec.2 4.19.10 4.19.9 4.19.0 4.19.0-okd-scos.ec.3 4.19.0-okd-scos.17 4.19.0-okd-scos.9 4.9.59");
    assert_eq!(report.invalid_versions, ["4.19", "v4.19.1"]);
}

#[test]
fn incomplete_preflight_risks_do_not_block() {
    let mut update = conditional("5.1.4", &["A", "PreflightInProgress"], Some("False"));
    let mut output = |reason: &str, status: &str| {
        update["risks"][1]["conditions"] =
            json!([{"type": "Applies", "status": status, "reason": reason}]);
        let cluster = cluster(fine(), json!([]), json!([update.clone()]));
        about(&cluster, &none(), "5.1.4", &["A"]).verdict()
    };
    assert_eq!(output("PreflightRunning", "True"), Verdict::Yes);
    assert_eq!(output("PreflightPartial", "Unknown"), Verdict::Yes);
    assert_eq!(output("PreflightValidation", "True"), Verdict::No);
}

#[test]
fn verdict_of_unlisted_version_is_unknown() {
    let texts = |available: Value, version: &str| {
        let report = about(&cluster(fine(), available, json!([])), &none(), version, &[]);
        assert_eq!(report.verdict(), Verdict::Unknown);
        let RecommendResult::One { target: None, not_offered_message: not_offered } = report.result
        else {
            panic!()
        };
        not_offered.unwrap()
    };
    let some = || json!([release("5.1.2")]);
    let stale = json!([{"type": "RetrievedUpdates", "status": "False", "reason": "NoChannel"}]);
    let unknown = about(&cluster(stale, json!(null), json!([])), &none(), "5.1.2", &[]);
    let RecommendResult::One { not_offered_message: Some(unknown), .. } = unknown.result else {
        panic!()
    };
    let texts = [
        unknown,
        texts(json!([]), "5.1.2"),
        texts(some(), "6.0.0"),
        texts(some(), "5.2.0"),
        texts(some(), "5.1.3"),
    ];
    insta::assert_snapshot!(texts.join("\n"), @"
    the available updates are unknown
    no updates are available
    no updates to 6 are available
    no updates to 5.2 are available
    no update to 5.1.3 is available
    ");
}

#[test]
fn issues_are_accepted_by_name() {
    let risky = json!([conditional("5.1.4", &["A", "B"], Some("False"))]);
    let cluster = cluster(fine(), json!([]), risky);
    let verdict = |accept: &[&str]| {
        let report = about(&cluster, &none(), "5.1.4", accept);
        (report.verdict(), report.unaccepted)
    };
    let open = || vec!["ConditionalUpdateRisk".to_owned()];
    assert_eq!(verdict(&[]), (Verdict::No, open()));
    assert_eq!(verdict(&["A"]), (Verdict::No, open()));
    assert_eq!(verdict(&["A", "B"]), (Verdict::Yes, vec![]));
    assert_eq!(verdict(&["ConditionalUpdateRisk"]), (Verdict::Yes, vec![]));
}

#[test]
fn failing_cluster_is_issue_of_every_update() {
    let conditions = json!([
        {"type": "Failing", "status": "True", "reason": "Bad", "message": "It fails."},
        {"type": "Progressing", "status": "True", "message": "On its way."},
        {"type": "RetrievedUpdates", "status": "False", "reason": "Gone"},
    ]);
    let cluster = cluster(conditions, json!([release("5.1.2")]), json!([]));
    let report = about(&cluster, &none(), "5.1.2", &["Failing"]);
    assert_eq!(report.unaccepted, ["CannotRetrieveUpdates", "Progressing"]);
    assert_eq!(report.verdict(), Verdict::No);
    let rest = about(&cluster, &none(), "5.1.2", &["Failing", "Progressing"]);
    assert_eq!(rest.verdict(), Verdict::Unknown, "the current updates are unknown");
}

#[test]
fn firing_alerts_are_issues() {
    let alert = |name: &str, severity: &str, more: Value| {
        let mut labels = json!({"alertname": name, "severity": severity, "namespace": "shop", "poddisruptionbudget": "till"});
        labels.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"labels": labels, "annotations": {"summary": "It is", "runbook_url": "https://example.com"}, "state": "firing"})
    };
    let alerts = firing(json!([
        alert("Watchdog", "none", json!({})),
        alert("Fire", "critical", json!({})),
        alert("PodDisruptionBudgetLimit", "critical", json!({})),
        alert("KubeNodeNotReady", "warning", json!({})),
        alert("VMCannotBeEvicted", "warning", json!({})),
        alert("Mine", "info", json!({"openShiftUpdatePrecheck": "true"})),
    ]));
    let cluster = cluster(fine(), json!([release("5.1.2")]), json!([]));
    let report = about(&cluster, &alerts, "5.1.2", &["Fire"]);
    let lines =
        report.prechecks.iter().map(|one| format!("{} {}: {}", one.type_, one.reason, one.message));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    recommended/CriticalAlerts/Fire/0 Alert:firing: critical alert Fire firing, suggesting significant cluster issues worth investigating. It is. The alert has no description. https://example.com
    recommended/CriticalAlerts/PodDisruptionBudgetLimit/1 Alert:firing: critical alert PodDisruptionBudgetLimit firing, suggesting significant cluster issues worth investigating. Namespace=shop, PodDisruptionBudget=till. It is. The alert has no description. https://example.com
    recommended/NodeAlerts/KubeNodeNotReady/2 Alert:firing: warning alert KubeNodeNotReady firing, which may slow workload redistribution during rolling node updates. It is. The alert has no description. https://example.com
    recommended/VirtAlerts/VMCannotBeEvicted/3 Alert:firing: warning alert VMCannotBeEvicted firing, which may slow workload redistribution during rolling node updates. It is. The alert has no description. https://example.com
    recommended/UpdatePrecheckAlerts/Mine/4 Alert:firing: info alert Mine firing, suggesting issues worth investigating before updating the cluster. It is. The alert has no description. https://example.com
    recommended/PodImagePullAlerts AsExpected: no such alerts are firing
    ");
    assert_eq!(
        report.unaccepted,
        ["KubeNodeNotReady", "Mine", "PodDisruptionBudgetLimit", "VMCannotBeEvicted"]
    );
}

#[test]
fn alert_belongs_to_first_matching_group() {
    let precheck = |name: &str, severity: &str, label: &str, state: &str| {
        let labels =
            json!({"alertname": name, "severity": severity, "openShiftUpdatePrecheck": label});
        let alerts = firing(json!([{"labels": labels, "state": state}]));
        let cluster = cluster(fine(), json!([]), json!([]));
        let report = Recommendation::of(&cluster, &alerts, &RecommendQuery::default(), at(0));
        let silent = report.prechecks.iter().filter(|precheck| precheck.passed).count();
        let found = report.prechecks.iter().find(|precheck| !precheck.passed);
        let found = found.map_or("nothing", |precheck| precheck.type_.as_str());
        format!("{found} and {silent} silent")
    };
    insta::assert_snapshot!([
        precheck("Mine", "critical", "true", "firing"),
        precheck("PodDisruptionBudgetLimit", "critical", "", "firing"),
        precheck("PodDisruptionBudgetLimit", "warning", "", "firing"),
        precheck("PodDisruptionBudgetAtLimit", "warning", "true", "firing"),
        precheck("PodDisruptionBudgetAtLimit", "critical", "", "firing"),
        precheck("KubeContainerWaiting", "warning", "", "firing"),
        precheck("KubeletHealthState", "info", "", "firing"),
        precheck("KubeNodeNotReady", "warning", "", "firing"),
        precheck("KubeNodeReadinessFlapping", "warning", "", "firing"),
        precheck("KubeNodeUnreachable", "warning", "", "firing"),
        precheck("Mine", "", "true", "firing"),
        precheck("Mine", "warning", "True", "firing"),
        precheck("VMCannotBeEvicted", "warning", "true", "firing"),
        precheck("VMCannotBeEvicted", "warning", "", "firing"),
        precheck("VirtHandlerDaemonSetRolloutFailing", "warning", "", "firing"),
        precheck("Fire", "critical", "", "pending"),
        precheck("", "critical", "", "firing"),
    ].join("\n"), @"
    recommended/CriticalAlerts/Mine/0 and 4 silent
    recommended/CriticalAlerts/PodDisruptionBudgetLimit/0 and 3 silent
    nothing and 5 silent
    recommended/PodDisruptionBudgetAlerts/PodDisruptionBudgetAtLimit/0 and 4 silent
    recommended/CriticalAlerts/PodDisruptionBudgetAtLimit/0 and 4 silent
    recommended/PodImagePullAlerts/KubeContainerWaiting/0 and 4 silent
    recommended/NodeAlerts/KubeletHealthState/0 and 4 silent
    recommended/NodeAlerts/KubeNodeNotReady/0 and 4 silent
    recommended/NodeAlerts/KubeNodeReadinessFlapping/0 and 4 silent
    recommended/NodeAlerts/KubeNodeUnreachable/0 and 4 silent
    recommended/UpdatePrecheckAlerts/Mine/0 and 4 silent
    nothing and 5 silent
    recommended/UpdatePrecheckAlerts/VMCannotBeEvicted/0 and 4 silent
    recommended/VirtAlerts/VMCannotBeEvicted/0 and 5 silent
    recommended/VirtAlerts/VirtHandlerDaemonSetRolloutFailing/0 and 5 silent
    nothing and 5 silent
    nothing and 5 silent
    ");
}

#[test]
fn conditions_of_cluster_version_are_issues() {
    let issues = |conditions: Value| {
        let cluster = cluster(conditions, json!([release("5.1.2")]), json!([]));
        let report = about(&cluster, &none(), "5.1.2", &[]);
        format!("{:?} {:?}", report.unaccepted.join(","), report.verdict())
    };
    let one = |type_: &str, status: &str, message: &str| {
        let mut conditions = json!([{"type": "Failing", "status": "False"}]);
        let output = json!({"type": type_, "status": status, "message": message});
        match type_ {
            "Failing" => conditions[0] = output,
            _ => conditions.as_array_mut().unwrap().push(output),
        }
        issues(conditions)
    };
    let fine = r#""" Yes"#;
    assert_eq!(one("Failing", "False", "m"), fine);
    assert_eq!(one("Failing", "True", "m"), r#""Failing" No"#);
    assert_eq!(one("Failing", "Unknown", "m"), r#""Failing" Unknown"#);
    assert_eq!(issues(json!([])), r#""Failing" Unknown"#);
    assert_eq!(one("Progressing", "True", "m"), r#""Progressing" No"#);
    assert_eq!(one("Progressing", "True", ""), fine);
    assert_eq!(one("Progressing", "False", "m"), fine);
    assert_eq!(one("RetrievedUpdates", "True", "m"), fine);
    assert_eq!(one("RetrievedUpdates", "False", "m"), r#""CannotRetrieveUpdates" Unknown"#);
    assert_eq!(one("RetrievedUpdates", "Unknown", "m"), r#""CannotRetrieveUpdates" Unknown"#);
    assert_eq!(one("Upgradeable", "False", "m"), fine, "it is no other minor version");
}

#[test]
fn unknown_alerts_are_not_treated_as_none() {
    let cluster = cluster(fine(), json!([release("5.1.2")]), json!([]));
    let unreadable = Alerts::Unreadable("no token".to_owned());
    let report = about(&cluster, &unreadable, "5.1.2", &[]);
    assert_eq!(report.unaccepted, ["FailedToCompletePrecheck"]);
    assert_eq!((report.verdict(), report.alerts.available), (Verdict::Unknown, false));
    let accepted = about(&cluster, &unreadable, "5.1.2", &["FailedToCompletePrecheck"]);
    assert_eq!(accepted.verdict(), Verdict::Yes);

    let recorded = about(&cluster, &Alerts::NotRecorded, "5.1.2", &[]);
    assert_eq!((recorded.verdict(), recorded.alerts.available), (Verdict::Unknown, false));
    let plain = about(&cluster, &Alerts::NoMonitoring, "5.1.2", &[]);
    assert_eq!((plain.verdict(), plain.alerts.available), (Verdict::Yes, false));
}

#[test]
fn verdict_without_retrieved_updates_is_unknown() {
    let report =
        Recommendation::of(&ClusterVersion::default(), &none(), &RecommendQuery::default(), at(0));
    assert_eq!(report.verdict(), Verdict::Unknown);
    assert_eq!(report.unaccepted, ["Failing"]);
}
