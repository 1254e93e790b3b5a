//! Tests for resources that an update waits for.

use super::*;

#[test]
fn pending_resources_of_update() {
    let mut cluster = cluster();
    cluster.pools[1].spec.paused = true;
    cluster.nodes[0] =
        node("master-0; rm", "master", json!({"desiredConfig": "new", "state": "Working"}));
    let pending = |cluster: &ClusterObjects| {
        let status = text(cluster, 600);
        let lines = status.pending_resources.iter().map(|wait| {
            let PendingResource {
                kind, name, reason, message, age_seconds, inspect_command, ..
            } = wait;
            format!("{kind:?} {name} {reason:?} {message:?} {age_seconds:?} {inspect_command}")
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(pending(&cluster), @r#"
    Operator network Some("Why") Some("network says so") Some(300) kubectl describe clusteroperator network
    Node master-0; rm Some("Updating") None None kubectl describe node
    Pool worker Some("Paused") Some("the pool is paused, 1 of 1 nodes outdated") None kubectl describe machineconfigpool worker
    "#);
    cluster.pools.clear();
    cluster.operators[2] = operator(
        "network",
        "5.1.0",
        &[("Available", "False", at(0)), ("Progressing", "False", at(0))],
    );
    insta::assert_snapshot!(pending(&cluster), @r#"Operator network Some("Why") Some("network says so") Some(600) kubectl describe clusteroperator network"#);
    cluster.operators[2] = quiet("network", "5.1.0");
    insta::assert_snapshot!(pending(&cluster), @r#"ClusterVersion version None Some("Working") Some(600) fairway upgrade"#);
}

#[test]
fn pending_request_is_reported() {
    let mut cluster = cluster();
    cluster.pools.clear();
    let ask = |cluster: &mut ClusterObjects, update: Value| {
        cluster.version.spec.desired_update = object(update);
    };
    ask(&mut cluster, json!({"version": "5.2.0"}));
    assert_eq!(text(&cluster, 600).requested, None, "the rollout is in progress");
    ask(&mut cluster, json!({"image": "mirror@sha256:2"}));
    assert_eq!(text(&cluster, 600).requested, None, "the same content");
    ask(&mut cluster, json!({"version": "5.3.0", "mode": "Preflight"}));
    assert_eq!(text(&cluster, 600).requested, None, "a preflight is no update");

    ask(&mut cluster, json!({"version": "5.2.0", "architecture": "Multi"}));
    assert!(text(&cluster, 600).requested.is_some(), "the same version, for one architecture");
    let accept = |cluster: &mut ClusterObjects, status: &str, architecture: &str| {
        let status = json!({"type": "ReleaseAccepted", "status": status, "message":
            format!(r#"Payload loaded version="5.2.0" image="b" architecture="{architecture}""#)});
        cluster.version.status.as_mut().unwrap().conditions.set(object(status), at(0));
    };
    accept(&mut cluster, "True", "amd64");
    assert!(text(&cluster, 600).requested.is_some(), "what was accepted is for one architecture");
    accept(&mut cluster, "False", "Multi");
    assert!(text(&cluster, 600).requested.is_some(), "it was not accepted");
    accept(&mut cluster, "True", "Multi");
    assert_eq!(text(&cluster, 600).requested, None, "that is what was accepted");
    cluster.version.status.as_mut().unwrap().conditions.pop();

    ask(&mut cluster, json!({"version": "5.3.0"}));
    let status = cluster.version.status.as_mut().unwrap();
    status.conditions[0].status = ConditionStatus::False;
    let waiting = |cluster: &ClusterObjects| {
        let status = text(cluster, 600);
        assert!(!status.updating);
        let wait = &status.pending_resources[0];
        let problem = if status.has_problems() { "problem: " } else { "" };
        format!("{problem}{:?} {} {:?} {:?}", wait.kind, wait.name, wait.reason, wait.message)
    };
    let mut texts = vec![waiting(&cluster)];
    let status = cluster.version.status.as_mut().unwrap();
    status.conditions.push(object(json!({
        "type": "ReleaseAccepted", "status": "False", "reason": "UnacceptedRisks",
        "message": "SlowDisks is not accepted.", "lastTransitionTime": at(60),
    })));
    texts.push(waiting(&cluster));
    cluster.version.metadata.generation = Some(7);
    texts.push(waiting(&cluster));
    insta::assert_snapshot!(texts.join("\n"), @r#"
    Release 5.3.0 None Some("the operator has not started the update yet")
    problem: Release 5.3.0 Some("UnacceptedRisks") Some("SlowDisks is not accepted.")
    Release 5.3.0 Some("UnacceptedRisks") Some("the operator has not processed the request yet")
    "#);
}

#[test]
fn pools_are_pending_after_operators() {
    let pending = |cluster: &ClusterObjects| {
        let status = text(cluster, 600);
        let lines = status.pending_resources.iter().map(|wait| {
            let PendingResource { kind, name, reason, message, .. } = wait;
            format!("{kind:?} {name} {reason:?} {message:?}")
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut cluster = cluster();
    let early = pending(&cluster);
    assert!(!early.contains("Pool"), "components come first: {early}");
    for operator in &mut cluster.operators {
        *operator = quiet(&operator.metadata.name.clone().unwrap(), "5.2.0");
    }
    insta::assert_snapshot!(pending(&cluster), @r#"
    Pool master Some("Pending") Some("no node is updating, 1 of 1 nodes outdated")
    Pool worker Some("Pending") Some("no node is updating, 1 of 1 nodes outdated")
    "#);
    cluster.operators[3] = operator("machine-config", "5.1.0", &[("Progressing", "True", at(0))]);
    let nodes = json!({"desiredConfig": "new", "state": "Rebooting"});
    cluster.nodes[0] = node("master-0", "master", nodes);
    insta::assert_snapshot!(pending(&cluster), @r#"
    Operator machine-config Some("Why") Some("machine-config says so")
    Node master-0 Some("Rebooting") None
    Pool worker Some("Pending") Some("no node is updating, 1 of 1 nodes outdated")
    "#);
}

#[test]
fn pending_cluster_version_has_failing_message() {
    let mut cluster = cluster();
    cluster.pools.clear();
    cluster.operators = vec![quiet("etcd", "5.2.0"), quiet("dns", "5.1.0")];
    let output =
        |cluster: &ClusterObjects| text(cluster, 600).pending_resources[0].message.clone().unwrap();
    assert_eq!(output(&cluster), "Working");
    let conditions = &mut cluster.version.status.as_mut().unwrap().conditions;
    conditions[1] = object(
        json!({"type": "Failing", "status": "True", "reason": "Slow", "message": "It cannot apply dns."}),
    );
    assert_eq!(output(&cluster), "It cannot apply dns.");
}
