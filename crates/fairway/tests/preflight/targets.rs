//! One cluster, and several releases that are asked about it.

use anyhow::Result;
use fairway_api::Conditions as _;
use fairway_testkit::TestPlatform;
use serde_json::json;

use crate::ground::{ask, edit, install, risks, until_nothing_is_left, upgrade};

#[tokio::test(flavor = "multi_thread")]
async fn every_release_says_what_concerns_it_and_all_of_it_stays() -> Result<()> {
    let platform = install().await?;
    let both = json!({ "cluster-networks": "10.128.0.0/14,fd01::/48" });
    edit(&platform, ("openshift-network", "network-config"), both).await?;

    let told = ask(&platform, "5.1.0", 0).await?;
    assert!(told.contains("NetworkingDualStackDeprecated: info"), "{told}");
    assert!(!told.contains("DualStackIncompatible"), "{told}");
    let told = ask(&platform, "5.2.0", 3).await?;
    assert!(told.contains("DualStackIncompatible: critical"), "{told}");
    assert!(!told.contains("NetworkingDualStackDeprecated"), "{told}");
    let shown = risks(&platform.status().await?);
    let risks_of: Vec<&str> = shown.lines().filter(|line| line.starts_with("5.")).collect();
    insta::assert_snapshot!(risks_of.join("\n"), @"
    5.2.0: CloudCredentialPermissionsIncomplete, DualStackIncompatible, NotOfferedByUpdateService, StorageCSIDriverIncompatible
    5.1.0: NetworkingDualStackDeprecated
    ");

    too_old_for_preflights(&platform).await
}

/// A release that does not know preflights says so, and what others have said stays.
async fn too_old_for_preflights(platform: &TestPlatform) -> Result<()> {
    let image = format!("--to-image={}", platform.image("4.9.0")?);
    let wanted = ["--mode=preflight", &image, "--allow-explicit-upgrade", "--wait=4m"];
    let told = upgrade(platform, &wanted, 4).await?;
    assert!(told.contains("PreflightNotSupported"), "{told}");
    let status =
        platform.until_condition("PreflightFailed", "True", "PreflightNotSupported").await?;
    assert!(status.conditions.is_false("PreflightCompleted"), "{:#?}", status.conditions);
    assert!(risks(&status).contains("DualStackIncompatible"), "{}", risks(&status));
    upgrade(platform, &["--clear-preflight"], 0).await?;
    until_nothing_is_left(platform).await
}
