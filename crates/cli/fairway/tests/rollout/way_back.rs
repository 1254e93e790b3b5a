//! An update that is waited for, and the way back.

use anyhow::Result;
use fairway_api::ClusterVersionStatus;
use fairway_install::manifests::own_manifests;
use fairway_testkit::{TestPlatform, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_left_for_the_one_before_and_everybody_waits_for_it() -> Result<()> {
    let platform = TestPlatform::install(own_manifests(), "5.0.0", "stable-5.0").await?;
    let is_listed = |status: &ClusterVersionStatus| {
        status.available_updates.iter().flatten().any(|release| release.version == "5.0.1")
    };
    platform.until("5.0.1 to be listed", is_listed).await?;
    let none = platform.fairway(&["upgrade", "rollback"]).await?;
    assert_eq!(none.status.code(), Some(3), "{}", text(&none));

    let updated = platform.fairway(&["upgrade", "--to=5.0.1", "--wait=5m"]).await?;
    assert!(updated.status.success(), "{}", text(&updated));
    assert!(text(&updated).contains("The update is complete."), "{}", text(&updated));

    let back = platform.fairway(&["upgrade", "rollback", "--wait=5m"]).await?;
    assert!(back.status.success(), "{}", text(&back));
    assert!(text(&back).contains("Requested rollback from 5.0.1 to 5.0.0"), "{}", text(&back));
    let status = platform.status().await?;
    let history: Vec<_> = status.history.iter().filter_map(|it| it.version.as_deref()).collect();
    assert_eq!(history, ["5.0.0", "5.0.1", "5.0.0"]);
    assert_eq!(status.desired.version, "5.0.0");
    Ok(())
}
