//! The operator moves to another node while a release is asked.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_findings::{Document, record};
use fairway_install::manifests::own_manifests;
use fairway_testkit::{NAMESPACE, TestCluster, TestPlatform, wait};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;

use crate::ground::{ask, left, risks, upgrade};

/// What the pods of the operator are told by.
const OPERATOR: &str = "k8s-app=cluster-version-operator";

/// The operator ends, another one leads and starts the release again: a busy machine takes its time
/// for each.
const PATIENCE: Duration = Duration::from_mins(4);

#[tokio::test(flavor = "multi_thread")]
async fn results_arrive_also_when_the_operator_moves_to_another_node() -> Result<()> {
    let cluster = TestCluster::nodes(&["node-1", "node-2"]).await?;
    let platform = TestPlatform::prepare_on(cluster, own_manifests()).await?;
    let platform = platform.with("5.0.0", "stable-5.2").await?;
    ask(&platform, "5.2.0", 3).await?;
    let before = stored_run(&platform).await?;

    let node = node_of_the_operator(&platform).await?.context("it runs nowhere")?;
    let nodes: Api<Node> = Api::all(platform.cluster.client());
    let cordon = Patch::Merge(json!({ "spec": { "unschedulable": true } }));
    nodes.patch(&node, &PatchParams::default(), &cordon).await?;
    let pods: Api<Pod> = Api::namespaced(platform.cluster.client(), NAMESPACE);
    pods.delete_collection(&DeleteParams::default(), &ListParams::default().labels(OPERATOR))
        .await?;

    wait::until_within(PATIENCE, "results of a run on the other node", || async {
        Ok((stored_run(&platform).await? != before).then_some(()))
    })
    .await?;
    let elsewhere = node_of_the_operator(&platform).await?.context("it runs nowhere")?;
    assert_ne!(elsewhere, node);
    let status = platform.until_condition("PreflightCompleted", "True", "RisksFound").await?;
    for found in ["StorageCSIDriverIncompatible", "NodesUnschedulable"] {
        assert!(risks(&status).contains(found), "{}", risks(&status));
    }

    upgrade(&platform, &["--clear-preflight"], 0).await?;
    // What is on the node before waits for an operator that comes back there.
    let there = format!("/nodes/{node}/");
    wait::until("everything else to go", || async {
        Ok(left(&platform).await?.iter().all(|it| it.contains(&there)).then_some(()))
    })
    .await
}

async fn node_of_the_operator(platform: &TestPlatform) -> Result<Option<String>> {
    let pods: Api<Pod> = Api::namespaced(platform.cluster.client(), NAMESPACE);
    let found = pods.list(&ListParams::default().labels(OPERATOR)).await?;
    let stays = |pod: &&Pod| pod.metadata.deletion_timestamp.is_none();
    let pod = found.iter().find(stays).and_then(|pod| pod.spec.as_ref());
    Ok(pod.and_then(|pod| pod.node_name.clone()))
}

/// The run whose complete results are kept.
async fn stored_run(platform: &TestPlatform) -> Result<String> {
    let name = record::name(&platform.image("5.2.0")?).context("no digest")?;
    let kept = platform.config_map(NAMESPACE, &name).await?.and_then(|kept| kept.data);
    let kept =
        kept.and_then(|mut data| data.remove(record::COMPLETE)).context("nothing is kept")?;
    let document: Document = serde_json::from_str(&kept)?;
    Ok(document.preflight_id)
}
