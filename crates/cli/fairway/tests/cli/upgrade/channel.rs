//! `fairway upgrade channel`.

use anyhow::Result;
use fairway_api::CLUSTER_VERSION_NAME as NAME;
use fairway_sandbox::faults::Fault;
use fairway_testkit::TestCluster;
use kube::api::PostParams;
use serde_json::json;

use super::{create_cluster_version, document, upgrade};

#[tokio::test(flavor = "multi_thread")]
async fn channel_is_set_shown_and_cleared() -> Result<()> {
    check_channel().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn channel_is_set_shown_and_cleared_in_a_real_cluster() -> Result<()> {
    check_channel().await
}

async fn check_channel() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let mut object = api.get(NAME).await?;
    if let Some(status) = &mut object.status {
        status.desired.channels = ["fast-5.1", "stable-5.1"].map(str::to_owned).into();
    }
    api.replace_status(NAME, &PostParams::default(), &object).await?;
    let upgrade = |arguments: &[&str]| upgrade(cluster.kubeconfig(), arguments);
    let channel = async || anyhow::Ok(api.get(NAME).await?.spec.channel);
    let before = channel().await?;

    let tried = upgrade(&["channel", "fast-5.1", "--dry-run"]);
    assert!(tried.contains("nothing changed"), "{tried}");
    let refused = upgrade(&["channel", "fats-5.1"]);
    assert!(refused.starts_with("exit code: 3") && refused.contains("did you mean"), "{refused}");
    assert_eq!(channel().await?, before);

    let chosen = document(cluster.kubeconfig(), &["channel", "fast-5.1"])?;
    assert_eq!((&chosen["kind"], &chosen["changed"]), (&json!("UpgradeChannel"), &json!(true)));
    assert_eq!(channel().await?.as_deref(), Some("fast-5.1"));
    insta::assert_snapshot!(upgrade(&["channel"]), @"
    exit code: 0
    ----- stdout -----
    Channel: fast-5.1
    Available channels: fast-5.1, stable-5.1
    ");
    upgrade(&["channel", "eus-6.0", "--allow-explicit-channel"]);
    assert_eq!(channel().await?.as_deref(), Some("eus-6.0"));
    upgrade(&["channel", "--clear"]);
    assert_eq!(channel().await?, None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_is_retried() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api = create_cluster_version(&cluster).await?;
    let Some(sandbox) = cluster.fault_injection() else { return Ok(()) };
    let conflict = Fault::refuse(409).verb("patch").resource("clusterversions");
    sandbox.faults().add(conflict.times(3));
    let answer = upgrade(cluster.kubeconfig(), &["channel", "fast-5.1"]);
    assert!(answer.starts_with("exit code: 0"), "{answer}");
    assert_eq!(api.get(NAME).await?.spec.channel.as_deref(), Some("fast-5.1"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_channel_is_refused() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &["channel", ""]), @"
    exit code: 2
    ----- stderr -----
    error: invalid value '' for '[CHANNEL]': channel name is empty; to clear the channel, use --clear

    For more information, try '--help'.
    ");
    Ok(())
}
