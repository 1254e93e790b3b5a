//! An update that is under way, and a question about the release after it.

use anyhow::Result;
use fairway_api::Conditions as _;
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use serde_json::json;

use crate::ground::{ask, install, until_nothing_is_left, upgrade};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_leaves_an_update_that_is_under_way_alone() -> Result<()> {
    let platform = install().await?;
    platform.tell("storage", json!({ "stuck": "true" })).await?;
    platform.update(&["--to=5.1.0", "--allow-upgrade-with-warnings"]).await?;
    let waits = |status: &ClusterVersionStatus| {
        let progressing = status.conditions.find("Progressing");
        let message = progressing.and_then(|found| found.message.as_deref()).unwrap_or_default();
        message.contains("waiting on storage")
    };
    platform.until("storage to be waited for", waits).await?;

    let told = ask(&platform, "5.2.0", 3).await?;
    assert!(told.contains("StorageCSIDriverIncompatible: critical"), "{told}");
    let status = platform.status().await?;
    assert_eq!((&status.desired.version[..], status.history.len()), ("5.1.0", 2));

    platform.tell("storage", json!({ "stuck": null })).await?;
    let status = platform.until_completed("5.1.0").await?;
    assert!(status.history.iter().all(|entry| entry.state == UpdateState::Completed));
    // The release before can be asked as well, and knows why there is no way back.
    let told = ask(&platform, "5.0.1", 3).await?;
    for expected in ["6 of 6 operators", "From: 5.1.0", "StoredVersionsRemoved: critical"] {
        assert!(told.contains(expected), "{told}");
    }
    upgrade(&platform, &["--clear-preflight"], 0).await?;
    until_nothing_is_left(&platform).await
}
