//! Clusters and operators of the bench.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use fairway_testkit::{NAMESPACE, OperatorOptions, TestCluster, TestOperator, objects};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::releases::Payload;

/// Old API servers take minutes for large CRDs.
const ROLLOUT_TIMEOUT: Duration = Duration::from_mins(15);

/// A new control plane with the CRDs of the update API and without their objects.
pub(crate) async fn start_cluster() -> Result<TestCluster> {
    let cluster = TestCluster::start_kubernetes().await?;
    cluster.install_crds().await?;
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    Api::all(cluster.client()).create(&PostParams::default(), &namespace).await?;
    Ok(cluster)
}

/// Creates a ClusterVersion without a request and without a channel.
pub(crate) async fn create_cluster_version(cluster: &TestCluster) -> Result<()> {
    let mut object = objects::cluster_version();
    object.spec.channel = None;
    Api::all(cluster.client()).create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Starts the operator of a release, which finds the images of others in the layouts below a directory.
pub(crate) fn start_operator(
    cluster: TestCluster,
    payload: &Payload,
    layouts: &Path,
) -> Result<TestOperator> {
    let options = OperatorOptions {
        image_layouts: Some(layouts.to_owned()),
        timeout: ROLLOUT_TIMEOUT,
        ..OperatorOptions::new(&payload.image, &payload.directory)
    };
    TestOperator::start(cluster, options)
}
