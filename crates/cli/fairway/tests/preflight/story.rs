//! What would these releases say about this cluster?

use anyhow::Result;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersionStatus};
use serde_json::json;

use crate::commands;
use crate::ground::{
    ask, edit, install, left, risks, settled, until_nothing_is_left, until_seen, upgrade,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_release_says_what_it_finds_until_nobody_asks_any_more() -> Result<()> {
    let platform = install().await?;
    let told = ask(&platform, "5.1.0", 0).await?;
    assert!(told.contains("6 of 6 operators"), "{told}");
    assert_eq!(risks(&settled(&platform).await?), "");

    let told = ask(&platform, "5.2.0", 3).await?;
    for expected in ["StorageCSIDriverIncompatible: critical", "kubectl -n openshift-storage"] {
        assert!(told.contains(expected), "{told}");
    }
    platform.until_condition("PreflightCompleted", "True", "RisksFound").await?;
    let status = settled(&platform).await?;
    insta::assert_snapshot!(risks(&status), @r#"
    CloudCredentialPermissionsIncomplete: 5.2.0 uses permissions that are not granted: disks.label. The features that need them will not work. Grant disks.label, and add it to `granted`: `kubectl -n openshift-cloud-credential edit configmap cloud-credentials`
      Applies=True: PreflightValidation: Risk identified during preflight check for 5.2.0
    NotOfferedByUpdateService: The update service has no update from the running version to 5.2.0, so the update is untested.
      Applies=True: Match: The risk applies to all clusters.
    StorageCSIDriverIncompatible: Current CSI driver version 2.3.1 incompatible with 5.2.0. Minimum version 2.4.0 required. Update the driver: `kubectl -n openshift-storage patch configmap csi-driver --type=merge -p '{"data":{"version":"2.4.0"}}'`
      Applies=True: PreflightValidation: Risk identified during preflight check for 5.2.0
    5.2.0: CloudCredentialPermissionsIncomplete, NotOfferedByUpdateService, StorageCSIDriverIncompatible
    "#);
    assert!(!left(&platform).await?.is_empty(), "it goes on looking");

    // Jobs run again every hour, and for whoever asks again.
    edit(&platform, ("openshift-storage", "csi-driver"), json!({ "version": "2.4.0" })).await?;
    upgrade(&platform, &["--clear-preflight", "--keep-results"], 0).await?;
    until_nothing_is_left(&platform).await?;
    let status = platform.until_condition("PreflightCompleted", "True", "NotMonitored").await?;
    assert!(risks(&status).contains("StorageCSIDriverIncompatible"), "{}", risks(&status));
    let told = ask(&platform, "5.2.0", 3).await?;
    assert!(!told.contains("StorageCSIDriverIncompatible"), "{told}");
    let status = settled(&platform).await?;
    assert!(!risks(&status).contains("StorageCSIDriverIncompatible"), "{}", risks(&status));

    upgrade(&platform, &["accept", "CloudCredentialPermissionsIncomplete"], 0).await?;
    until_seen(&platform).await?;
    let told = upgrade(&platform, &["--status-preflight"], 0).await?;
    let accepted = "CloudCredentialPermissionsIncomplete: warning, from cloud-credential, accepted";
    assert!(told.contains(accepted), "{told}");

    commands::run(&platform, commands::END, &[])?;
    let left = platform.cluster_versions().get(CLUSTER_VERSION_NAME).await?.spec.desired_update;
    assert!(left.is_some_and(|left| left.accepts("CloudCredentialPermissionsIncomplete")));
    until_nothing_is_left(&platform).await?;
    platform.until_condition("PreflightCompleted", "False", "NotRequested").await?;
    let shows_nothing = |status: &ClusterVersionStatus| risks(status).is_empty();
    let status = platform.until("what was found to go", shows_nothing).await?;
    assert_eq!(status.history.len(), 1);
    Ok(())
}
