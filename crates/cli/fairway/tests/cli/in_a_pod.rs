//! The image of `cargo xtask image` in a pod.

use anyhow::Result;
use fairway_testkit::{TestCluster, environment, objects};

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn image_runs_in_a_pod() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let namespace = cluster.namespace("image").await?;
    let pod = objects::run_once("fairway", &environment::fairway_image()?, &["--version"]);
    let log = namespace.run(&pod).await?;
    assert_eq!(log, format!("fairway {}\n", env!("CARGO_PKG_VERSION")));
    Ok(())
}
