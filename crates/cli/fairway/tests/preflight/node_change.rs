//! A preflight whose operator moves to another node.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_findings::{Document, record};
use fairway_install::manifests::own_manifests;
use fairway_testkit::{NAMESPACE, TestCluster, TestPlatform, wait};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;

use crate::support::{preflight, risks, run_objects};

/// Selects the pods of the operator.
const OPERATOR: &str = "k8s-app=cluster-version-operator";

/// The operator terminates, another pod becomes the leader and runs the preflight again, on a busy host.
const RERUN_TIMEOUT: Duration = Duration::from_mins(4);

#[tokio::test(flavor = "multi_thread")]
async fn preflight_after_operator_moved_to_another_node_runs_again() -> Result<()> {
    let cluster = TestCluster::start_sandbox(&["node-1", "node-2"]).await?;
    let platform = TestPlatform::prepare(cluster, own_manifests()).await?;
    platform.install("5.0.0", "stable-5.2").await?;
    preflight(&platform, "5.2.0", 3).await?;
    let before = stored_run(&platform).await?;

    let node = operator_node(&platform).await?.context("no pod of the operator")?;
    let nodes: Api<Node> = Api::all(platform.client());
    let cordon = Patch::Merge(json!({ "spec": { "unschedulable": true } }));
    nodes.patch(&node, &PatchParams::default(), &cordon).await?;
    let pods: Api<Pod> = Api::namespaced(platform.client(), NAMESPACE);
    pods.delete_collection(&DeleteParams::default(), &ListParams::default().labels(OPERATOR))
        .await?;

    wait::until_within(RERUN_TIMEOUT, "results of a run on the other node", || async {
        Ok((stored_run(&platform).await? != before).then_some(()))
    })
    .await?;
    let other = operator_node(&platform).await?.context("no pod of the operator")?;
    assert_ne!(other, node);
    let status = platform.wait_until_condition("PreflightCompleted", "True", "RisksFound").await?;
    for risk in ["StorageCSIDriverIncompatible", "NodesUnschedulable"] {
        assert!(risks(&status).contains(risk), "{}", risks(&status));
    }

    platform.upgrade(&["--clear-preflight"], 0).await?;
    // Only an operator on the same node can delete the directory on the first node.
    let on_first_node = format!("/nodes/{node}/");
    wait::until("the removal of everything else", || async {
        let objects = run_objects(&platform).await?;
        Ok(objects.iter().all(|it| it.contains(&on_first_node)).then_some(()))
    })
    .await
}

async fn operator_node(platform: &TestPlatform) -> Result<Option<String>> {
    let pods: Api<Pod> = Api::namespaced(platform.client(), NAMESPACE);
    let found = pods.list(&ListParams::default().labels(OPERATOR)).await?;
    let is_running = |pod: &&Pod| pod.metadata.deletion_timestamp.is_none();
    let pod = found.iter().find(is_running).and_then(|pod| pod.spec.as_ref());
    Ok(pod.and_then(|pod| pod.node_name.clone()))
}

/// The ID of the run whose complete result is stored.
async fn stored_run(platform: &TestPlatform) -> Result<String> {
    let name = record::name(&platform.image("5.2.0")?).context("no digest")?;
    let data = platform.config_map(NAMESPACE, &name).await?.and_then(|stored| stored.data);
    let result = data.and_then(|mut data| data.remove(record::COMPLETE)).context("no result")?;
    let document: Document = serde_json::from_str(&result)?;
    Ok(document.preflight_id)
}
