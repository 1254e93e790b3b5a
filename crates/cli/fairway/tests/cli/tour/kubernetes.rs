//! `docs/tour-kubernetes.md`: on a Kubernetes with a node, where the page installs the example
//! platform from a registry.

use std::fs;

use anyhow::Result;
use fairway_install::manifests::own_manifests;
use fairway_testkit::{TestCluster, TestPlatform};

use super::{Site, take};

/// The page adds a context to a kubeconfig, which is therefore its own.
const KUBECONFIG: &str = "kubeconfig";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn a_platform_whose_operator_is_in_a_pod_says_what_the_tour_says() -> Result<()> {
    let platform = TestPlatform::prepare(TestCluster::exclusive().await?, own_manifests()).await?;
    let variables = vec![
        ("RELEASE", platform.image("5.0.0")?),
        ("UPDATE_SERVICE", platform.update_service().to_owned()),
    ];
    let mut site = Site::new(KUBECONFIG, variables)?;
    fs::copy(platform.cluster.kubeconfig(), site.directory().join(KUBECONFIG))?;
    take("tour-kubernetes.md", &mut site).await
}
