//! `etcd`: quorum of etcd during the update.
//!
//! The update restarts one etcd member after the other. The check counts the pods with the label
//! `app=etcd` in the namespace `openshift-etcd`. If one of the ready pods less is no majority of
//! all, the cluster loses its API during the update (`EtcdQuorumAtRisk`). A single member restarts
//! in any case and is not reported. The check is skipped in a cluster without the ClusterOperator
//! `etcd`.

use fairway_api::ClusterOperator;
use fairway_findings::{Finding, Severity};
use futures::FutureExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt as _};

use crate::check::{BuiltInResult, NoResult, StatelessCheck};
use crate::cluster::{Cluster, Part, Resource};
use crate::pods;
use crate::resources::{CLUSTER_OPERATORS, PODS};
use crate::wording::listed;

const NAMESPACE: &str = "openshift-etcd";
const LABEL: &str = "app=etcd";

/// Watched resource: pods of one namespace only.
const MEMBERS: Resource = PODS.only(Part::Namespace(NAMESPACE));

const OPERATOR: Resource = CLUSTER_OPERATORS.only(Part::One(None, "etcd"));

/// The check `etcd`.
pub(super) const CHECK: StatelessCheck = StatelessCheck {
    name: "etcd",
    watched: &[OPERATOR, MEMBERS],
    run: |cluster, _| examine(cluster).boxed(),
};

async fn examine(cluster: &Cluster) -> Result<BuiltInResult, NoResult> {
    let operators: Api<ClusterOperator> = Api::all(cluster.client().clone());
    if cluster.one(operators, "etcd").await?.is_none() {
        let why =
            "etcd is managed outside of this cluster: the cluster has no ClusterOperator etcd";
        return Err(NoResult::DoesNotApply(why.to_owned()));
    }
    let pods: Api<Pod> = Api::namespaced(cluster.client().clone(), NAMESPACE);
    let members = cluster.labelled(pods, LABEL).await?;
    if members.is_empty() {
        let why = format!("no pod in namespace {NAMESPACE} has the label {LABEL}");
        return Err(NoResult::NotKnown(why));
    }
    Ok(evaluate(&members).into_iter().collect::<Vec<_>>().into())
}

fn evaluate(members: &[Pod]) -> Option<Finding> {
    let all = members.len();
    let unhealthy: Vec<String> = members
        .iter()
        .filter(|member| !pods::is_ready(member))
        .map(|member| {
            let node = member.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            format!("{} on {}", member.name_any(), node.unwrap_or("no node"))
        })
        .collect();
    let healthy = all - unhealthy.len();
    let quorum = all / 2 + 1;
    if all == 1 || healthy > quorum {
        return None;
    }
    let why = if unhealthy.is_empty() {
        "With so few members, etcd has no failure tolerance".to_owned()
    } else {
        format!("Not ready: {}", listed(&unhealthy))
    };
    Some(Finding {
        name: "EtcdQuorumAtRisk".to_owned(),
        message: format!(
            "{healthy} of {all} etcd members are ready, and quorum needs {quorum}: when the \
             update restarts a member, the Kubernetes API becomes unavailable. {why}."
        ),
        severity: Severity::Critical,
        remediation: format!(
            "Restore all members before the update. Inspect them with `kubectl -n {NAMESPACE} get \
             pods -l {LABEL} -o wide` and `kubectl describe clusteroperator etcd`."
        ),
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Result;
    use fairway_testkit::releases::TestRelease;
    use fairway_testkit::{TestCluster, objects};
    use kube::api::PostParams;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::create_with_status;
    use crate::testing::{render, target};

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
        evaluate(&members)
    }

    #[test]
    fn finding_if_one_member_less_loses_quorum() {
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
    fn finding_names_members_and_remediation() {
        let found: Vec<Finding> = [judged(1, 3), judged(2, 2)].into_iter().flatten().collect();
        insta::assert_snapshot!(render(&found), @"
        EtcdQuorumAtRisk (critical): 1 of 3 etcd members are ready, and quorum needs 2: when the update restarts a member, the Kubernetes API becomes unavailable. Not ready: etcd-1 on node-1, etcd-2 on node-2.
          Restore all members before the update. Inspect them with `kubectl -n openshift-etcd get pods -l app=etcd -o wide` and `kubectl describe clusteroperator etcd`.
        EtcdQuorumAtRisk (critical): 2 of 2 etcd members are ready, and quorum needs 2: when the update restarts a member, the Kubernetes API becomes unavailable. With so few members, etcd has no failure tolerance.
          Restore all members before the update. Inspect them with `kubectl -n openshift-etcd get pods -l app=etcd -o wide` and `kubectl describe clusteroperator etcd`.
        ");
    }

    #[tokio::test]
    async fn run_reads_members_of_cluster() -> Result<()> {
        let cluster = TestCluster::exclusive().await?;
        let client = cluster.client();
        let reader = Cluster::new(client.clone());
        let elsewhere =
            (CHECK.run)(&reader, &target("5.0.0", &TestRelease::new("5.1.0"))?).await.unwrap_err();
        assert!(matches!(elsewhere, NoResult::DoesNotApply(_)), "{elsewhere}");
        let operators: Api<ClusterOperator> = Api::all(client.clone());
        operators.create(&PostParams::default(), &objects::cluster_operator("etcd")).await?;
        let unknown =
            (CHECK.run)(&reader, &target("5.0.0", &TestRelease::new("5.1.0"))?).await.unwrap_err();
        assert!(matches!(unknown, NoResult::NotKnown(_)), "{unknown}");
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        create_with_status(&client, &namespace).await?;
        for member in members(2, 3) {
            create_with_status(&client, &member).await?;
        }
        let answer = (CHECK.run)(&reader, &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
        assert_eq!(answer.findings.len(), 1);
        Ok(())
    }
}
