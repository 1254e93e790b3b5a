//! `docs/start/tour-kubernetes.md`, which installs the example platform from a registry.

use std::fs;

use anyhow::Result;
use fairway_install::manifests::own_manifests;
use fairway_testkit::{TestCluster, TestPlatform};

use super::{Session, check_page};

/// A copy, because the page adds a context.
const KUBECONFIG: &str = "kubeconfig";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn tour_page_with_operator_in_a_pod_has_the_current_output() -> Result<()> {
    let platform = TestPlatform::prepare(TestCluster::exclusive().await?, own_manifests()).await?;
    let variables = vec![
        ("RELEASE", platform.image("5.0.0")?),
        ("UPDATE_SERVICE", platform.update_service().to_owned()),
    ];
    let mut session = Session::new(KUBECONFIG, variables)?;
    fs::copy(platform.cluster.kubeconfig(), session.directory().join(KUBECONFIG))?;
    check_page("tour-kubernetes.md", &mut session).await
}
