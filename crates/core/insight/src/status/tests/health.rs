//! Tests for insights: problems that affect an update.

use super::*;

#[test]
fn operator_insight_level_depends_on_age() {
    let mut cluster = cluster();
    cluster.operators[0] =
        operator("etcd", "5.2.0", &[("Available", "False", at(0)), ("Degraded", "True", at(0))]);
    let levels = [300, 301, 1200, 1201, 2400, 2401].map(|second| {
        let status = text(&cluster, second);
        format!("{second}: {}", summaries(&status).join(", "))
    });
    insta::assert_snapshot!(levels.join("\n"), @"
    300: 
    301: Warning ApiAvailability Cluster Operator etcd is unavailable (Why), Warning ApiAvailability Cluster Operator etcd is degraded (Why)
    1200: Warning ApiAvailability Cluster Operator etcd is unavailable (Why), Warning ApiAvailability Cluster Operator etcd is degraded (Why)
    1201: Error ApiAvailability Cluster Operator etcd is unavailable (Why), Warning ApiAvailability Cluster Operator etcd is degraded (Why)
    2400: Error ApiAvailability Cluster Operator etcd is unavailable (Why), Warning ApiAvailability Cluster Operator etcd is degraded (Why)
    2401: Error ApiAvailability Cluster Operator etcd is unavailable (Why), Error ApiAvailability Cluster Operator etcd is degraded (Why)
    ");
}

#[test]
fn failing_cluster_version_stalls_update() {
    let mut cluster = cluster();
    let output = |cluster: &ClusterObjects| {
        let status = text(cluster, 600);
        assert!(status.has_problems());
        let estimate = updating(&status).estimate.as_ref().unwrap();
        assert_eq!((estimate.trusted, estimate.doubt), (false, Some(Doubt::Blocked)));
        format!("{}: {}", status.insights[0].summary, status.insights[0].description)
    };
    let conditions =
        |cluster: &mut ClusterObjects, status: Option<&str>| {
            let all = &mut cluster.version.status.as_mut().unwrap().conditions;
            all.truncate(1);
            all.extend(status.map(|status| {
                object(json!({"type": "Failing", "status": status, "reason": "Slow"}))
            }));
        };
    let mut texts = Vec::new();
    for status in [None, Some("True"), Some("Unknown")] {
        conditions(&mut cluster, status);
        texts.push(output(&cluster));
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    Cluster Version version has no Failing condition: The condition Failing is missing, so the state of the operator is unknown.
    Cluster Version version is failing to proceed with the update (Slow): <no message>
    Cluster Version version may be failing to proceed with the update (Slow): <no message>
    ");
}

#[test]
fn recent_failing_condition_is_transient() {
    let mut cluster = cluster();
    let failing = &mut cluster.version.status.as_mut().unwrap().conditions[1];
    failing.status = ConditionStatus::True;
    let output = |second: i64| {
        let status = text(&cluster, second);
        let doubt = updating(&status).estimate.as_ref().and_then(|estimate| estimate.doubt);
        (summaries(&status).len(), status.has_problems(), doubt == Some(Doubt::Blocked))
    };
    assert_eq!(output(2), (1, false, false), "as everywhere at first");
    assert_eq!(output(300), (1, false, false));
    assert_eq!(output(301), (1, true, true));
    assert_eq!(output(-300), (1, false, false), "clocks differ");
    assert!(output(-301).1, "a clock is never that wrong, so the start is unknown");
    cluster.version.status.as_mut().unwrap().conditions.pop();
    let status = text(&cluster, 2);
    assert!(!status.has_problems() && status.insights[0].transient, "no condition is set yet");
}

#[test]
fn alerts_started_during_update_and_pdb_alerts_are_insights() {
    let alert = |name: &str, severity: &str, since: i64, state: &str| {
        json!({"labels": {"alertname": name, "severity": severity, "namespace": "shop"},
               "annotations": {"summary": format!("{name} it is"), "description": "Long.", "message": "Longer."},
               "state": state, "activeAt": at(since)})
    };
    let json = json!({"status": "success", "data": {"alerts": [
        alert("New", "warning", 10, "firing"),
        alert("Old", "critical", -10, "firing"),
        alert("Soon", "critical", 10, "pending"),
        alert("Note", "info", 10, "firing"),
        alert("Bad", "critical", 10, "firing"),
        alert("PodDisruptionBudgetAtLimit", "warning", -10, "firing"),
        {"labels": {"severity": "critical"}, "state": "firing", "activeAt": at(10)},
    ]}});
    let mut cluster = cluster();
    cluster.alerts = Alerts::Known(alerts::read(json.to_string().as_bytes()).unwrap());
    let status = text(&cluster, 600);
    let lines = status.insights.iter().map(|one| {
        format!(
            "{:?} {}: {} {} {:?}",
            one.level, one.summary, one.description, one.reference, one.resources
        )
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    Critical Alert is firing: Bad it is: Alert started firing during the update. The alert description is: Long. | Longer. <alert does not have a runbook_url annotation> ["alerts.config.openshift.io: shop/Bad"]
    Warning Alert is firing: New it is: Alert started firing during the update. The alert description is: Long. | Longer. <alert does not have a runbook_url annotation> ["alerts.config.openshift.io: shop/New"]
    Warning Alert is firing: PodDisruptionBudgetAtLimit it is: Alert known to affect updates has been firing since before the update started. The alert description is: Long. | Longer. <alert does not have a runbook_url annotation> ["alerts.config.openshift.io: shop/PodDisruptionBudgetAtLimit"]
    "#);
}

#[test]
fn incomplete_previous_update_is_insight() {
    let mut cluster = cluster();
    let history = &mut cluster.version.status.as_mut().unwrap().history;
    history[1].state = fairway_api::cluster_version::UpdateState::Partial;
    insta::assert_snapshot!(summaries(&text(&cluster, 600)).join("\n"), @"Warning None Previous update to 5.1.0 never completed, last complete update was unknown");
    let history = &mut cluster.version.status.as_mut().unwrap().history;
    history.push(object(json!({"state": "Completed", "version": "5.0.9", "image": "c"})));
    insta::assert_snapshot!(summaries(&text(&cluster, 600)).join("\n"), @"Warning None Previous update to 5.1.0 never completed, last complete update was 5.0.9");
}

#[test]
fn insights_ignore_operators_of_others() {
    let mut cluster = cluster();
    cluster.operators[0] = operator("etcd", "5.2.0", &[("Available", "False", at(0))]);
    assert_eq!(summaries(&text(&cluster, 600)).len(), 1);
    cluster.operators[0].metadata.annotations = None;
    assert!(summaries(&text(&cluster, 600)).is_empty());
}

#[test]
fn operator_without_conditions_has_no_insight() {
    let found = |type_: &str, status: &str| {
        let mut cluster = cluster();
        cluster.operators[0] = operator("etcd", "5.2.0", &[(type_, status, at(0))]);
        summaries(&text(&cluster, 3000))
    };
    assert!(found("Available", "Unknown").is_empty());
    assert!(found("Available", "True").is_empty());
    assert!(found("Degraded", "Unknown").is_empty());
    assert!(found("Degraded", "False").is_empty());
    assert!(found("Progressing", "True").is_empty());
}

#[test]
fn insight_without_message_has_placeholder() {
    let mut cluster = cluster();
    cluster.operators[0] = operator("etcd", "5.2.0", &[("Degraded", "True", at(0))]);
    let condition = &mut cluster.operators[0].status.as_mut().unwrap().conditions[0];
    condition.message = None;
    condition.reason = None;
    let status = text(&cluster, 600);
    assert_eq!(status.insights[0].description, "<no message>");
    assert_eq!(status.insights[0].summary, "Cluster Operator etcd is degraded");
}

#[test]
fn degraded_node_without_reason_has_no_insight() {
    let mut cluster = cluster();
    cluster.nodes[1] = node("worker-0", "worker", json!({"state": "Degraded"}));
    let status = text(&cluster, 600);
    assert!(status.insights.is_empty());
    assert_eq!(status.pools[0].nodes.degraded, 1);
}

#[test]
fn insights_are_sorted_by_level_and_age() {
    let mut cluster = cluster();
    cluster.operators[0] = operator("etcd", "5.2.0", &[("Available", "False", at(100))]);
    cluster.operators[1] = operator("dns", "5.2.0", &[("Available", "False", at(200))]);
    cluster.operators[2] = operator("network", "5.1.0", &[("Available", "False", at(2000))]);
    cluster.nodes[1] = node("worker-0", "worker", json!({"state": "Degraded", "reason": "no"}));
    let about: Vec<_> =
        text(&cluster, 2500).insights.iter().map(|one| one.resources[0].clone()).collect();
    insta::assert_snapshot!(about.join("\n"), @"
    clusteroperators.config.openshift.io: dns
    clusteroperators.config.openshift.io: etcd
    nodes: worker-0
    clusteroperators.config.openshift.io: network
    ");
}

#[test]
fn alert_insight_by_state_severity_and_start() {
    let counts = |name: &str, severity: &str, since: Option<i64>, state: &str| {
        let mut alert =
            json!({"labels": {"alertname": name, "severity": severity}, "state": state});
        if let Some(since) = since {
            alert["activeAt"] = json!(at(since));
        }
        let json = json!({"status": "success", "data": {"alerts": [alert]}}).to_string();
        let mut cluster = cluster();
        cluster.alerts = Alerts::Known(alerts::read(json.as_bytes()).unwrap());
        text(&cluster, 600).insights.first().map(|one| one.level)
    };
    let cases = [
        ("A", "warning", Some(1), "firing", Some(Level::Warning)),
        ("A", "critical", Some(1), "firing", Some(Level::Critical)),
        ("A", "info", Some(1), "firing", None),
        ("A", "none", Some(1), "firing", None),
        ("A", "", Some(1), "firing", None),
        ("A", "critical", Some(1), "pending", None),
        ("A", "critical", Some(0), "firing", None),
        ("A", "critical", Some(-1), "firing", None),
        ("A", "critical", None, "firing", None),
        ("", "critical", Some(1), "firing", None),
        ("PodDisruptionBudgetLimit", "critical", Some(-1), "firing", Some(Level::Critical)),
        ("PodDisruptionBudgetAtLimit", "warning", None, "firing", Some(Level::Warning)),
        ("PodDisruptionBudgetAtLimit", "warning", Some(-1), "pending", None),
        ("PodDisruptionBudgetAtLimit", "info", Some(-1), "firing", None),
    ];
    for (name, severity, since, state, level) in cases {
        assert_eq!(counts(name, severity, since, state), level, "{name} {severity} {since:?}");
    }
}

#[test]
fn alerts_without_history_count_from_progressing() {
    let alert = json!({"labels": {"alertname": "A", "severity": "warning"}, "state": "firing", "activeAt": at(10)});
    let json = json!({"status": "success", "data": {"alerts": [alert]}}).to_string();
    let mut cluster = cluster();
    cluster.alerts = Alerts::Known(alerts::read(json.as_bytes()).unwrap());
    let status = cluster.version.status.as_mut().unwrap();
    status.history.clear();
    assert_eq!(text(&cluster, 600).insights.len(), 1);
    let status = cluster.version.status.as_mut().unwrap();
    status.conditions[0].last_transition_time = Some(object(json!(at(20))));
    assert!(text(&cluster, 600).insights.is_empty());
}
