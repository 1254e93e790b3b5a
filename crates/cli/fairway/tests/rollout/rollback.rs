//! Rollback to the previous release.

use anyhow::Result;
use fairway_api::ClusterVersionStatus;
use fairway_install::manifests::own_manifests;
use fairway_testkit::TestPlatform;
use fairway_testkit::cluster_version::history;

#[tokio::test(flavor = "multi_thread")]
async fn rollback_after_update_returns_to_previous_release() -> Result<()> {
    let platform = TestPlatform::start(own_manifests(), "5.0.0", "stable-5.0").await?;
    let is_available = |status: &ClusterVersionStatus| {
        status.available_updates.iter().flatten().any(|release| release.version == "5.0.1")
    };
    platform.wait_until("5.0.1 to be available", is_available).await?;
    platform.upgrade(&["rollback"], 3).await?;

    let text = platform.upgrade(&["--to=5.0.1", "--wait=5m"], 0).await?;
    assert!(text.contains("The update is complete."), "{text}");

    let text = platform.upgrade(&["rollback", "--wait=5m"], 0).await?;
    assert!(text.contains("Requested rollback from 5.0.1 to 5.0.0"), "{text}");
    let status = platform.status().await?;
    let versions: Vec<_> = history(&status).into_iter().map(|(version, _)| version).collect();
    assert_eq!(versions, ["5.0.0", "5.0.1", "5.0.0"]);
    assert_eq!(status.desired.version, "5.0.0");
    Ok(())
}
