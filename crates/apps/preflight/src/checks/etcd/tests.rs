use anyhow::Result;
use fairway_testkit::releases::TestRelease;
use fairway_testkit::{TestCluster, objects};
use kube::api::PostParams;
use serde_json::{Value, json};

use super::*;
use crate::checks::ground::create;
use crate::testing::{target, told};

fn member(number: usize, is_ready: bool) -> Value {
    let ready = if is_ready { "True" } else { "False" };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("etcd-{number}"), "namespace": NAMESPACE, "labels": {"app": "etcd"},
        },
        "spec": {
            "nodeName": format!("node-{number}"), "containers": [{"name": "etcd", "image": "etcd"}],
        },
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    })
}

fn members(ready: usize, all: usize) -> impl Iterator<Item = Value> {
    (0..all).map(move |number| member(number, number < ready))
}

fn judged(ready: usize, all: usize) -> Option<Finding> {
    let members: Vec<Pod> =
        members(ready, all).map(|it| serde_json::from_value(it).unwrap()).collect();
    judge(&members)
}

#[test]
fn one_member_less_has_to_be_enough() {
    for (ready, all, survives) in [
        (3, 3, true),
        (2, 3, false),
        (1, 3, false),
        (0, 3, false),
        (5, 5, true),
        (4, 5, true),
        (3, 5, false),
        (2, 2, false),
        (1, 1, true),
        (4, 4, true),
        (3, 4, false),
    ] {
        assert_eq!(judged(ready, all).is_none(), survives, "{ready} of {all}");
    }
}

#[test]
fn members_are_named_with_what_to_do() {
    let found: Vec<Finding> = [judged(1, 3), judged(2, 2)].into_iter().flatten().collect();
    insta::assert_snapshot!(told(&found), @"
    EtcdQuorumAtRisk (critical): 1 of 3 etcd members are ready, and quorum needs 2: when the update restarts a member, the Kubernetes API becomes unavailable. Not ready: etcd-1 on node-1, etcd-2 on node-2.
      Restore all members before the update. Inspect them with `kubectl -n openshift-etcd get pods -l app=etcd -o wide` and `kubectl describe clusteroperator etcd`.
    EtcdQuorumAtRisk (critical): 2 of 2 etcd members are ready, and quorum needs 2: when the update restarts a member, the Kubernetes API becomes unavailable. With so few members, etcd cannot lose any.
      Restore all members before the update. Inspect them with `kubectl -n openshift-etcd get pods -l app=etcd -o wide` and `kubectl describe clusteroperator etcd`.
    ");
}

#[tokio::test]
async fn the_members_of_a_cluster_are_looked_at() -> Result<()> {
    let cluster = TestCluster::in_turn().await?;
    let client = cluster.client();
    let seen = Cluster::new(client.clone());
    let elsewhere =
        Etcd.run(&seen, &target("5.0.0", &TestRelease::new("5.1.0"))?).await.unwrap_err();
    assert!(matches!(elsewhere, CannotTell::DoesNotApply(_)), "{elsewhere}");
    let operators: Api<ClusterOperator> = Api::all(client.clone());
    operators.create(&PostParams::default(), &objects::cluster_operator("etcd")).await?;
    let unknown = Etcd.run(&seen, &target("5.0.0", &TestRelease::new("5.1.0"))?).await.unwrap_err();
    assert!(matches!(unknown, CannotTell::NotKnown(_)), "{unknown}");
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    create(&client, &namespace).await?;
    for member in members(2, 3) {
        create(&client, &member).await?;
    }
    let answer = Etcd.run(&seen, &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
    assert_eq!(answer.findings.len(), 1);
    Ok(())
}
