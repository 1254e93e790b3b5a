//! One cluster, and several releases that are asked about it.

use anyhow::Result;
use fairway_api::Conditions as _;
use fairway_testkit::TestPlatform;
use serde_json::json;

use crate::ground::{ask, edit, install, risks, settled, until_nothing_is_left, upgrade};

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
    let shown = risks(&settled(&platform).await?);
    let risks_of: Vec<&str> = shown.lines().filter(|line| line.starts_with("5.")).collect();
    insta::assert_snapshot!(risks_of.join("\n"), @"
    5.2.0: CloudCredentialPermissionsIncomplete, DualStackIncompatible, NotOfferedByUpdateService, StorageCSIDriverIncompatible
    5.1.0: NetworkingDualStackDeprecated
    ");

    too_far_ahead(&platform).await?;
    too_old_for_preflights(&platform).await
}

/// Three minor versions ahead, a release says what it knows, and what it cannot compare.
async fn too_far_ahead(platform: &TestPlatform) -> Result<()> {
    let image = format!("--to-image={}", platform.image("5.3.0")?);
    let wanted = ["--mode=preflight", &image, "--allow-explicit-upgrade", "--wait=4m"];
    let told = upgrade(platform, &wanted, 3).await?;
    for expected in ["DualStackIncompatible: critical", "unsupported version skew"] {
        assert!(told.contains(expected), "{told}");
    }
    let status =
        platform.until_condition("PreflightFailed", "True", "PreflightVersionSkew").await?;
    let far = risks(&status);
    let far: Vec<&str> = far.lines().filter(|line| line.contains("VersionSkew")).collect();
    insta::assert_snapshot!(far.join("\n"), @"
    MachineConfigVersionSkew: Compatibility of machine-config with 5.3.0 is unknown: 5.3.0 supports clusters that are at most 2 minor versions behind, and this cluster runs 5.0.0. Run a preflight of an intermediate release
      Applies=True: PreflightVersionSkew: Risk assessment incomplete - 5.3.0 is too many versions after 5.0.0; run preflights of the versions between them first
      Applies=True: PreflightVersionSkew: Risk assessment incomplete - machine-config operator preflight check does not support an update between these versions
    5.3.0: CloudCredentialPermissionsIncomplete, DualStackIncompatible, MachineConfigVersionSkew, NotOfferedByUpdateService, PreflightIncomplete, StorageCSIDriverIncompatible
    ");
    Ok(())
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
