//! Preflights during and after an update.

use anyhow::Result;
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_testkit::cluster_version::message;
use serde_json::json;

use crate::support::{preflight, start, wait_until_removed};

#[tokio::test(flavor = "multi_thread")]
async fn preflight_during_update_does_not_affect_the_update() -> Result<()> {
    let platform = start().await?;
    platform.set_behaviour("storage", json!({ "stuck": "true" })).await?;
    platform.upgrade(&["--to=5.1.0", "--allow-upgrade-with-warnings"], 0).await?;
    let waits = |status: &ClusterVersionStatus| {
        message(status, "Progressing").contains("waiting on storage")
    };
    platform.wait_until("an update that waits for storage", waits).await?;

    let text = preflight(&platform, "5.2.0", 3).await?;
    assert!(text.contains("StorageCSIDriverIncompatible: critical"), "{text}");
    let status = platform.status().await?;
    assert_eq!((&status.desired.version[..], status.history.len()), ("5.1.0", 2));

    platform.set_behaviour("storage", json!({ "stuck": null })).await?;
    let status = platform.wait_until_completed("5.1.0").await?;
    assert!(status.history.iter().all(|entry| entry.state == UpdateState::Completed));
    // A preflight of the previous release reports what prevents a rollback.
    let text = preflight(&platform, "5.0.1", 3).await?;
    for expected in ["6 of 6 operators", "From: 5.1.0", "StoredVersionsRemoved: critical"] {
        assert!(text.contains(expected), "{text}");
    }
    platform.upgrade(&["--clear-preflight"], 0).await?;
    wait_until_removed(&platform).await
}
