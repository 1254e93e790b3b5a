//! Preflights of several releases on one cluster.

use anyhow::Result;
use fairway_api::Conditions as _;
use fairway_testkit::TestPlatform;
use serde_json::json;

use crate::support::{
    preflight, preflight_of_image, risks, start, wait_until_evaluated, wait_until_removed,
};

#[tokio::test(flavor = "multi_thread")]
async fn preflights_of_several_releases_keep_the_findings_of_each() -> Result<()> {
    let platform = start().await?;
    let dual_stack = json!({ "cluster-networks": "10.128.0.0/14,fd01::/48" });
    platform.patch_config_map(("openshift-network", "network-config"), dual_stack).await?;

    let text = preflight(&platform, "5.1.0", 0).await?;
    assert!(text.contains("NetworkingDualStackDeprecated: info"), "{text}");
    assert!(!text.contains("DualStackIncompatible"), "{text}");
    let text = preflight(&platform, "5.2.0", 3).await?;
    assert!(text.contains("DualStackIncompatible: critical"), "{text}");
    assert!(!text.contains("NetworkingDualStackDeprecated"), "{text}");
    let shown = risks(&wait_until_evaluated(&platform).await?);
    let risks_of: Vec<&str> = shown.lines().filter(|line| line.starts_with("5.")).collect();
    insta::assert_snapshot!(risks_of.join("\n"), @"
    5.2.0: CloudCredentialPermissionsIncomplete, DualStackIncompatible, NotOfferedByUpdateService, StorageCSIDriverIncompatible
    5.1.0: NetworkingDualStackDeprecated
    ");

    unsupported_version_skew(&platform).await?;
    release_without_preflights(&platform).await
}

/// A release that is three minor versions ahead reports its findings and the checks that cannot run.
async fn unsupported_version_skew(platform: &TestPlatform) -> Result<()> {
    let text = preflight_of_image(platform, "5.3.0", 3).await?;
    for expected in ["DualStackIncompatible: critical", "unsupported version skew"] {
        assert!(text.contains(expected), "{text}");
    }
    let status =
        platform.wait_until_condition("PreflightFailed", "True", "PreflightVersionSkew").await?;
    let risks = risks(&status);
    let skew: Vec<&str> = risks.lines().filter(|line| line.contains("VersionSkew")).collect();
    insta::assert_snapshot!(skew.join("\n"), @"
    MachineConfigVersionSkew: Compatibility of machine-config with 5.3.0 is unknown: 5.3.0 supports clusters that are at most 2 minor versions behind, but this cluster runs 5.0.0. Run a preflight of an intermediate release
      Applies=True: PreflightVersionSkew: Risk assessment incomplete - 5.3.0 is too many versions after 5.0.0; run preflights of the versions between them first
      Applies=True: PreflightVersionSkew: Risk assessment incomplete - machine-config operator preflight check does not support an update between these versions
    5.3.0: CloudCredentialPermissionsIncomplete, DualStackIncompatible, MachineConfigVersionSkew, NotOfferedByUpdateService, PreflightIncomplete, StorageCSIDriverIncompatible
    ");
    Ok(())
}

/// A release that does not support preflights fails, and the findings of the others remain.
async fn release_without_preflights(platform: &TestPlatform) -> Result<()> {
    let text = preflight_of_image(platform, "4.9.0", 4).await?;
    assert!(text.contains("PreflightNotSupported"), "{text}");
    let status =
        platform.wait_until_condition("PreflightFailed", "True", "PreflightNotSupported").await?;
    assert!(status.conditions.is_false("PreflightCompleted"), "{:#?}", status.conditions);
    assert!(risks(&status).contains("DualStackIncompatible"), "{}", risks(&status));
    platform.upgrade(&["--clear-preflight"], 0).await?;
    wait_until_removed(platform).await
}
