use anyhow::Result;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::*;
use crate::checks::ground::create;
use crate::testing::{define, target, told};

fn operator(name: &str, conditions: &Value) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": name}, "spec": {}, "status": {"conditions": conditions},
    })
}

fn says(type_: &str, status: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "message": message, "reason": "Test",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn pool(name: &str, paused: bool, conditions: &Value) -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": name}, "spec": {"paused": paused}, "status": {"conditions": conditions},
    })
}

fn judged(operators: &[Value], pools: &[Value]) -> Vec<Finding> {
    let operators: Vec<ClusterOperator> =
        operators.iter().map(|it| serde_json::from_value(it.clone()).unwrap()).collect();
    let pools: Vec<Pool> = pools
        .iter()
        .map(|it| Pool::read(&serde_json::from_value::<DynamicObject>(it.clone()).unwrap()))
        .collect();
    judge(&operators, &pools)
}

fn names(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.name.as_str()).collect()
}

#[test]
fn what_operators_say_about_themselves() {
    let good = says("Available", "True", "");
    for (conditions, expected) in [
        (json!([good]), vec![]),
        (json!([]), vec!["ClusterOperatorsNotAvailable"]),
        (json!([says("Available", "Unknown", "")]), vec!["ClusterOperatorsNotAvailable"]),
        (json!([good, says("Degraded", "True", "")]), vec!["ClusterOperatorsDegraded"]),
        (json!([good, says("Degraded", "Unknown", "")]), vec![]),
        (json!([good, says("Upgradeable", "False", "")]), vec![]),
        (json!([good, says("Progressing", "True", "")]), vec![]),
        (
            json!([says("Available", "False", ""), says("Degraded", "True", "")]),
            vec!["ClusterOperatorsNotAvailable", "ClusterOperatorsDegraded"],
        ),
    ] {
        assert_eq!(names(&judged(&[operator("a", &conditions)], &[])), expected, "{conditions}");
    }
}

#[test]
fn what_pools_are_doing() {
    let is = |type_: &str| json!([says(type_, "True", "")]);
    for (pool, expected) in [
        (pool("a", false, &is("Updated")), vec![]),
        (pool("a", true, &is("Updated")), vec!["MachineConfigPoolsPaused"]),
        (pool("a", true, &is("Updating")), vec!["MachineConfigPoolsPaused"]),
        (pool("a", false, &is("Updating")), vec!["MachineConfigPoolsUpdating"]),
        (pool("a", false, &is("Degraded")), vec!["MachineConfigPoolsDegraded"]),
        (pool("a", false, &json!("rubbish")), vec![]),
    ] {
        assert_eq!(names(&judged(&[], std::slice::from_ref(&pool))), expected, "{pool}");
    }
}

#[test]
fn each_is_named_with_what_to_do() {
    let operators = [
        operator("network", &json!([says("Available", "False", "no gateway answers")])),
        operator("dns", &json!([says("Available", "True", ""), says("Degraded", "True", "slow")])),
    ];
    let pools = [
        pool("worker", true, &json!([])),
        pool("infra", false, &json!([says("Degraded", "True", "node x does not start")])),
        pool("master", false, &json!([says("Updating", "True", "")])),
    ];
    insta::assert_snapshot!(told(&judged(&operators, &pools)), @r#"
    ClusterOperatorsNotAvailable (critical): 1 cluster operator is not available, and the update would wait for availability: network (no gateway answers).
      Resolve the cause before the update: `kubectl describe clusteroperator network`.
    ClusterOperatorsDegraded (info): 1 cluster operator is degraded, which does not block the update: dns (slow).
      Find the cause: `kubectl describe clusteroperator dns`.
    MachineConfigPoolsDegraded (critical): 1 MachineConfigPool is degraded, and the update would not update their nodes: infra (node x does not start).
      Resolve the cause before the update: `kubectl describe machineconfigpool infra`.
    MachineConfigPoolsPaused (warning): 1 MachineConfigPool is paused. Nodes of paused pools keep their version, fall behind with every update, and get no new certificates: worker.
      Resume the pool: `kubectl patch machineconfigpool worker --type=merge -p '{"spec":{"paused":false}}'`.
    MachineConfigPoolsUpdating (info): 1 MachineConfigPool is still updating nodes, and the update restarts these nodes again: master.
      Wait for the pool: `kubectl wait --for=condition=Updated --timeout=1h machineconfigpool/master`.
    "#);
}

#[tokio::test]
async fn the_operators_of_a_cluster_are_looked_at() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let client = cluster.client();
    let seen = Cluster::new(client.clone());
    let unseen =
        Operators.run(&seen, &target("5.0.0", &TestRelease::new("5.1.0"))?).await.unwrap_err();
    assert!(matches!(unseen, CannotTell::Unseen(Unseen::NotServed(_))), "{unseen}");
    cluster.install_crds().await?;
    create(&client, &operator("network", &json!([says("Available", "False", "")]))).await?;
    let answer = Operators.run(&seen, &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
    assert_eq!(names(&answer.findings), ["ClusterOperatorsNotAvailable"], "there are no pools");
    define(&cluster, MACHINE_CONFIG_POOLS, "Cluster").await?;
    let mut worker = pool("worker", true, &json!([]));
    worker.as_object_mut().unwrap().remove("status");
    create(&client, &worker).await?;
    let answer = Operators.run(&seen, &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
    assert_eq!(
        names(&answer.findings),
        ["ClusterOperatorsNotAvailable", "MachineConfigPoolsPaused"]
    );
    Ok(())
}
