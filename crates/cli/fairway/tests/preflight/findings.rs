//! Findings of a preflight until the request is withdrawn.

use anyhow::Result;
use fairway_api::ClusterVersionStatus;
use serde_json::json;

use crate::commands;
use crate::support::{
    preflight, risks, run_objects, start, wait_until_evaluated, wait_until_observed,
    wait_until_removed,
};

#[tokio::test(flavor = "multi_thread")]
async fn preflight_reports_findings_until_corrected_accepted_or_withdrawn() -> Result<()> {
    let platform = start().await?;
    let text = preflight(&platform, "5.1.0", 0).await?;
    assert!(text.contains("6 of 6 operators"), "{text}");
    assert_eq!(risks(&wait_until_evaluated(&platform).await?), "");

    let text = preflight(&platform, "5.2.0", 3).await?;
    for expected in ["StorageCSIDriverIncompatible: critical", "kubectl -n openshift-storage"] {
        assert!(text.contains(expected), "{text}");
    }
    platform.wait_until_condition("PreflightCompleted", "True", "RisksFound").await?;
    let status = wait_until_evaluated(&platform).await?;
    insta::assert_snapshot!(risks(&status), @r#"
    CloudCredentialPermissionsIncomplete: 5.2.0 uses permissions that are not granted: disks.label. The features that need them will not work. Grant disks.label, and add it to `granted`: `kubectl -n openshift-cloud-credential edit configmap cloud-credentials`
      Applies=True: PreflightValidation: Risk identified during preflight check for 5.2.0
    NotOfferedByUpdateService: The update service has no update from the running version to 5.2.0, so the update is untested.
      Applies=True: Match: The risk applies to all clusters.
    StorageCSIDriverIncompatible: Current CSI driver version 2.3.1 incompatible with 5.2.0. Minimum version 2.4.0 required. Update the driver: `kubectl -n openshift-storage patch configmap csi-driver --type=merge -p '{"data":{"version":"2.4.0"}}'`
      Applies=True: PreflightValidation: Risk identified during preflight check for 5.2.0
    5.2.0: CloudCredentialPermissionsIncomplete, NotOfferedByUpdateService, StorageCSIDriverIncompatible
    "#);
    assert!(!run_objects(&platform).await?.is_empty(), "the run continues");

    // Checks run again every hour, and for each new request.
    let driver = json!({ "version": "2.4.0" });
    platform.patch_config_map(("openshift-storage", "csi-driver"), driver).await?;
    platform.upgrade(&["--clear-preflight", "--keep-results"], 0).await?;
    wait_until_removed(&platform).await?;
    let status =
        platform.wait_until_condition("PreflightCompleted", "True", "NotMonitored").await?;
    assert!(risks(&status).contains("StorageCSIDriverIncompatible"), "{}", risks(&status));
    let text = preflight(&platform, "5.2.0", 3).await?;
    assert!(!text.contains("StorageCSIDriverIncompatible"), "{text}");
    let status = wait_until_evaluated(&platform).await?;
    assert!(!risks(&status).contains("StorageCSIDriverIncompatible"), "{}", risks(&status));

    platform.upgrade(&["accept", "CloudCredentialPermissionsIncomplete"], 0).await?;
    wait_until_observed(&platform).await?;
    let text = platform.upgrade(&["--status-preflight"], 0).await?;
    let accepted = "CloudCredentialPermissionsIncomplete: warning, from cloud-credential, accepted";
    assert!(text.contains(accepted), "{text}");

    commands::run(&platform, commands::END, &[])?;
    let request = platform.cluster_version().get().await?.spec.desired_update;
    assert!(request.is_some_and(|request| request.accepts("CloudCredentialPermissionsIncomplete")));
    wait_until_removed(&platform).await?;
    platform.wait_until_condition("PreflightCompleted", "False", "NotRequested").await?;
    let is_empty = |status: &ClusterVersionStatus| risks(status).is_empty();
    let status = platform.wait_until("the findings to be removed", is_empty).await?;
    assert_eq!(status.history.len(), 1);
    Ok(())
}
