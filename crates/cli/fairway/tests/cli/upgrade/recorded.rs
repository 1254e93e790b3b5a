//! Reports of recorded clusters, and the formats of their files.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::recording::{
    CONFIGURATION, DRAINING, LAST_EVENT_AT, PENDING, REBOOTING, Recording, STARTED_AT, UPDATED,
    choices, condition, document, facts, list, node, operator, pool,
};

#[test]
fn status_excludes_paused_pool() -> Result<()> {
    let mut recording = Recording::new()?;
    recording.pools[1]["spec"]["paused"] = json!(true);
    recording.nodes.push(node("compute-1", &["worker"], UPDATED));
    insta::assert_snapshot!(recording.facts()?, @"
    Progressing to 9.2.0 (update) 50% of {total:2,updated:1,updating:1,waiting:0} by [machine-config], {degraded:0,healthy:2,unavailable:0} with 56m left
    pool worker Excluded 1 of 2
    node compute-0 worker Excluded Paused 9.1.0 - null
    node compute-1 worker Completed Updated 9.2.0 - null
    Warning Update Stalled [machineconfigpools.machineconfiguration.openshift.io: worker]
    ");
    Ok(())
}

#[test]
fn status_lists_nodes_of_several_pools() -> Result<()> {
    let mut recording = Recording::new()?;
    recording.pools.push(pool("infra"));
    recording.pools.push(pool("gpu"));
    recording.nodes = vec![
        node("control-0", &["master", "worker"], REBOOTING),
        node("control-1", &["master", "worker"], UPDATED),
        node("infra-0", &["infra", "worker"], DRAINING),
        node("infra-1", &["infra", "worker"], PENDING),
        node("compute-0", &["worker"], UPDATED),
        node("stranger", &[], PENDING),
    ];
    insta::assert_snapshot!(recording.facts()?, @"
    Progressing to 9.2.0 (update) 50% of {total:2,updated:1,updating:1,waiting:0} by [machine-config], {degraded:0,healthy:2,unavailable:0} with 56m left
    pool worker Completed 1 of 1
    pool infra Progressing 0 of 2
    pool gpu Empty 0 of 0
    node control-0 master Progressing Rebooting 9.1.0 +5m null
    node control-1 master Completed Updated 9.2.0 - null
    node compute-0 worker Completed Updated 9.2.0 - null
    node infra-0 infra Progressing Draining 9.1.0 +10m null
    node infra-1 infra Outdated Pending 9.1.0 ? null
    ");
    Ok(())
}

#[test]
fn status_counts_operators_of_the_release_only() -> Result<()> {
    let mut recording = Recording::new()?;
    let mut stranger = operator("stranger", "1.0.0", "True");
    stranger["metadata"]["annotations"] = json!(null);
    stranger["status"]["conditions"][1] = condition("Degraded", "True", STARTED_AT);
    recording.operators.insert(0, stranger);
    let old = recording.version["status"]["history"][2].clone();
    let history = recording.version["status"]["history"].as_array_mut().context("no history")?;
    history.extend(vec![old; 67]);
    insta::assert_snapshot!(recording.facts()?, @"
    Progressing to 9.2.0 (update) 50% of {total:2,updated:1,updating:1,waiting:0} by [machine-config], {degraded:0,healthy:2,unavailable:0} with 56m left
    pool worker Pending 0 of 1
    node compute-0 worker Outdated Pending 9.1.0 ? null
    ");
    Ok(())
}

#[test]
fn status_of_compact_cluster_has_control_plane_nodes() -> Result<()> {
    let mut recording = Recording::new()?;
    let names = ["control-0", "control-1", "control-2"];
    recording.nodes = names.map(|name| node(name, &["master", "worker"], PENDING)).to_vec();
    let annotations = &mut recording.nodes[1]["metadata"]["annotations"];
    annotations[format!("{CONFIGURATION}/state")] = json!("Degraded");
    annotations[format!("{CONFIGURATION}/reason")] =
        json!("cannot pull on control-1:\nfirst try\nsecond try");
    let conditions = &mut recording.operators[1]["status"]["conditions"];
    conditions[2]["reason"] = json!("A_Reason::That_Is_Longer::Than_Anybody_Would_Think");
    conditions[2]["message"] = json!("Working towards 9.2.0:\n* one thing\n* another");
    insta::assert_snapshot!(recording.facts()?, @r"
    Progressing to 9.2.0 (update) 50% of {total:2,updated:1,updating:1,waiting:0} by [machine-config], {degraded:0,healthy:2,unavailable:0} with 56m left
    node control-1 master Degraded Pending 9.1.0 ? cannot pull on <node>:\nfirst try\nsecond try
    node control-0 master Outdated Pending 9.1.0 ? null
    node control-2 master Outdated Pending 9.1.0 ? null
    Error Update Stalled [nodes: control-1]
    ");
    Ok(())
}

#[test]
fn status_detects_change_of_architecture_by_image() -> Result<()> {
    let mut recording = Recording::new()?;
    recording.version["status"]["history"][1]["version"] = json!("9.2.0");
    let versions = json!([
        {"name": "operator", "version": "9.2.0"}, {"name": "operator-image", "version": "mco@sha256:1"},
    ]);
    recording.operators[1]["status"]["versions"] = versions;
    recording.write()?;
    let container = |name: &str, image: &str| json!({"name": name, "image": image});
    let containers = json!([
        container("kube-rbac-proxy", "p"),
        container("machine-config-operator", "mco@sha256:2")
    ]);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "machine-config-operator", "namespace": "openshift-machine-config-operator"},
        "spec": {"template": {"spec": {"containers": containers}}},
    });
    let without = facts(&recording.document(&["status"])?);
    assert!(without.starts_with("completed 9.2.0\n"), "{without}");
    recording.file("-mco-deployment.yaml", &deployment)?;
    let alone = facts(&recording.document(&["status"])?);
    insta::assert_snapshot!(alone, @"
    Progressing to 9.2.0 (multiArch) 50% of {total:2,updated:1,updating:1,waiting:0} by [machine-config], {degraded:0,healthy:2,unavailable:0} with N/A for Multi-Architecture Migration left
    pool worker Pending 0 of 1
    node compute-0 worker Outdated Pending 9.1.0 ? null
    ");
    recording.file("-mco-deployment.yaml", &list(&[deployment]))?;
    assert_eq!(facts(&recording.document(&["status"])?), alone);
    Ok(())
}

#[test]
fn status_includes_recorded_alerts() -> Result<()> {
    let recording = Recording::new()?;
    let alert = |name: &str, severity: &str, since: &str| {
        json!({"labels": {"alertname": name, "severity": severity, "namespace": "shop"},
               "annotations": {"summary": "It is"}, "state": "firing", "activeAt": since, "value": "1e+00"})
    };
    let alerts = [
        alert("Watchdog", "none", STARTED_AT),
        alert("Fire", "critical", LAST_EVENT_AT),
        alert("Smoke", "warning", "2026-02-28T10:00:00Z"),
        alert("PodDisruptionBudgetAtLimit", "warning", "2026-02-28T10:00:00.123456789Z"),
    ];
    recording.file("-alerts.json", &json!({"status": "success", "data": {"alerts": alerts}}))?;
    insta::assert_snapshot!(recording.facts()?, @"
    Progressing to 9.2.0 (update) 50% of {total:2,updated:1,updating:1,waiting:0} by [machine-config], {degraded:0,healthy:2,unavailable:0} with 56m left
    pool worker Pending 0 of 1
    node compute-0 worker Outdated Pending 9.1.0 ? null
    Critical Unknown [alerts.config.openshift.io: shop/Fire]
    Warning Unknown [alerts.config.openshift.io: shop/PodDisruptionBudgetAtLimit]
    ");
    Ok(())
}

#[test]
fn status_after_control_plane_reports_workers() -> Result<()> {
    let mut recording = Recording::new()?;
    recording.operators[1] = operator("machine-config", "9.2.0", "False");
    let status = &mut recording.version["status"];
    status["conditions"][0]["status"] = json!("False");
    status["history"][0]["state"] = json!("Completed");
    status["history"][0]["completionTime"] = json!(LAST_EVENT_AT);
    insta::assert_snapshot!(recording.facts()?, @"
    completed 9.2.0
    pool worker Pending 0 of 1
    node compute-0 worker Outdated Pending 9.1.0 ? null
    ");
    recording.nodes[1] = node("compute-0", &["worker"], UPDATED);
    assert_eq!(recording.facts()?, "not updating");
    Ok(())
}

#[test]
fn recording_in_any_format_gives_the_same_report() -> Result<()> {
    let mut recording = Recording::new()?;
    let usual = recording.facts()?;

    let typed = |kind: &str, version: &str, items: &[Value]| {
        let items: Vec<Value> = items.to_vec();
        let mut list =
            json!({"apiVersion": version, "kind": format!("{kind}List"), "items": items});
        for item in
            list["items"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut)
        {
            item.remove("kind");
            item.remove("apiVersion");
        }
        list
    };
    let pools = typed("MachineConfigPool", &format!("{CONFIGURATION}/v1"), &recording.pools);
    recording.file(
        "-co.yaml",
        &typed("ClusterOperator", "config.openshift.io/v1", &recording.operators),
    )?;
    recording.file("-cv.yaml", &list(std::slice::from_ref(&recording.version)))?;
    recording.file("-node.yaml", &typed("Node", "v1", &recording.nodes))?;
    recording.file("-mcp.yaml", &pools)?;
    assert_eq!(facts(&recording.document(&["status"])?), usual, "typed lists");

    let path = recording.folder.path().join("X-node.yaml");
    fs::write(path, format!("---\n# nodes\n{}\n", list(&recording.nodes)))?;
    assert_eq!(facts(&recording.document(&["status"])?), usual, "a comment before it");

    recording.nodes.truncate(1);
    recording.write()?;
    let alone = facts(&recording.document(&["status"])?);
    recording.file("-node.yaml", &recording.nodes[0])?;
    assert_eq!(facts(&recording.document(&["status"])?), alone, "one object");

    recording.nodes.clear();
    let none = recording.facts()?;
    recording
        .file("-node.yaml", &json!({"apiVersion": "v1", "kind": "NodeList", "items": null}))?;
    assert_eq!(facts(&recording.document(&["status"])?), none, "no items");
    recording.file("-mcp.yaml", &json!({"apiVersion": "v1", "kind": "List", "items": null}))?;
    assert_eq!(facts(&recording.document(&["status"])?), none, "no pools");
    recording.file("-co.yaml", &json!({"apiVersion": "v1", "kind": "List", "items": null}))?;
    assert!(recording.upgrade(&["status"]).starts_with("exit code: 4\n"), "no ClusterVersion");
    Ok(())
}

#[test]
fn recommend_evaluates_every_update() -> Result<()> {
    let recording = Recording { version: choices(), ..Recording::new()? };
    recording.file("-cv.yaml", &recording.version)?;
    let shown = recording.document(&["recommend"])?;
    let updates = shown["updates"].as_array().context("no updates")?;
    let line = |one: &Value| format!("{} {} {}", one["version"], one["recommended"], one["reason"]);
    insta::assert_snapshot!(updates.iter().map(line).collect::<Vec<_>>().join("\n"), @r#"
    "9.2.4" "False" "AdminAckRequired"
    "9.2.3" "False" "MultipleReasons"
    "9.2.2" "False" "AdminAckRequired"
    "9.2.1" "False" "AdminAckRequired"
    "9.1.6" "Unknown" "NoConditions"
    "9.1.5" "True" null
    "9.1.4" "True" null
    "9.1.3" "True" null
    "9.1.2" "False" "SlowDisks"
    "9.1.1" "Unknown" "EvaluationFailed"
    "#);

    let one = |version: &str| {
        let shown = recording.document(&["recommend", "--version", version])?;
        anyhow::Ok(format!(
            "{} {} {}",
            line(&shown["target"]),
            shown["unaccepted"],
            shown["notOfferedMessage"]
        ))
    };
    let versions = ["9.1.4", "9.1.1", "9.2.1", "9.1.9", "9.3.0", "10.0.0"];
    let answers = versions.map(one).into_iter().collect::<Result<Vec<_>>>()?;
    insta::assert_snapshot!(answers.join("\n"), @r#"
    "9.1.4" "True" null [] null
    "9.1.1" "Unknown" "EvaluationFailed" ["ConditionalUpdateRisk"] null
    "9.2.1" "False" "AdminAckRequired" ["ConditionalUpdateRisk"] null
    null null null [] "no update to 9.1.9 is available"
    null null null [] "no updates to 9.3 are available"
    null null null [] "no updates to 10 are available"
    "#);
    Ok(())
}

#[test]
fn recommend_with_quiet_returns_an_exit_code() -> Result<()> {
    let recording = Recording { version: choices(), ..Recording::new()? };
    recording.file("-cv.yaml", &recording.version)?;
    let ask = |arguments: &[&str]| {
        recording.upgrade(&[&["recommend", "--quiet", "--version"], arguments].concat())
    };
    insta::assert_snapshot!(ask(&["9.1.2"]), @"
    exit code: 3
    ----- stderr -----
    error: the update to 9.1.2 has unaccepted issues: ConditionalUpdateRisk
    hint: run `fairway upgrade recommend --version=9.1.2` for details
    ");
    insta::assert_snapshot!(ask(&["9.3.0"]), @"
    exit code: 4
    ----- stderr -----
    error: no updates to 9.3 are available
    hint: run `fairway upgrade recommend --show-outdated-releases` to list available updates
    ");
    insta::assert_snapshot!(ask(&["9.1.4"]), @"
    exit code: 4
    ----- stderr -----
    error: the alerts are unknown: the recorded cluster contains no alert data
    hint: run `fairway upgrade recommend --version=9.1.4` for details
    ");
    recording.file("-alerts.json", &json!({"status": "success", "data": {"alerts": []}}))?;
    insta::assert_snapshot!(ask(&["9.1.4"]), @"exit code: 0");
    insta::assert_snapshot!(ask(&["9.1.2", "--accept=SlowDisks"]), @"exit code: 0");
    let document = document(&ask(&["9.1.4", "-o", "json"]))?;
    assert_eq!(document["target"]["version"], "9.1.4", "a document is printed");
    Ok(())
}

#[test]
fn dry_run_on_recording_prints_the_result() -> Result<()> {
    let recording = Recording { version: choices(), ..Recording::new()? };
    recording.file("-cv.yaml", &recording.version)?;
    let upgrade = [
        recording.upgrade(&["channel"]),
        recording.upgrade(&["channel", "fast-9.2", "--dry-run"]),
        recording.upgrade(&["channel", "fast-9.2"]),
        recording.upgrade(&["accept", "SlowDisks"]),
        recording.upgrade(&["accept", "--export"]),
    ];
    insta::assert_snapshot!(upgrade.join("\n"), @"
    exit code: 0
    ----- stdout -----
    Channel: stable-9.2

    exit code: 0
    ----- stdout -----
    Dry run, nothing changed. Without --dry-run:

    Channel: fast-9.2 (previously: stable-9.2)

    The operator retrieves the updates of this channel.
    ----- stderr -----
    warning: cannot verify channel fast-9.2: the channels of the running release are unknown

    exit code: 2
    ----- stderr -----
    error: --from-file reads a recorded cluster, which cannot be changed; add --dry-run to preview the change

    exit code: 2
    ----- stderr -----
    error: --from-file reads a recorded cluster, which cannot be changed; add --dry-run to preview the change

    exit code: 0
    ----- stdout -----
    apiVersion: fairway.dev/v1alpha1
    kind: AcceptedRisks
    version: 1
    risks: []
    ");
    let accepted = recording.document(&["accept", "SlowDisks", "--until=3d", "--dry-run"])?;
    assert_eq!(accepted["dryRun"], true);
    let until = &accepted["accepted"][0]["until"];
    assert_eq!(until, "2026-03-04T10:00:00Z", "three days after what was recorded");
    Ok(())
}

#[test]
fn commands_in_reports_name_the_cluster() -> Result<()> {
    let recording = Recording::new()?;
    recording.write()?;
    let status = recording.document(&["status", "--as=alice"])?;
    let inspect = status["pendingResources"][0]["inspectCommand"].as_str();
    let inspect = inspect.context("no pending resource")?;
    assert_eq!(inspect, "kubectl describe clusteroperator machine-config --as=alice");
    Ok(())
}
