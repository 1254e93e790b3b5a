//! Tests of the storage check.

use std::time::Duration;

use anyhow::Result;
use fairway_check_testing::{Fault, Fixture};

use crate::example::Storage;

const CLUSTER: &str = "
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: spinning
provisioner: disk.platform.example
";

const RELEASE: &str = "
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata:
  name: flash.platform.example
";

fn update() -> Fixture {
    Fixture::from("5.0.0").to("5.2.0").objects(CLUSTER).manifest("drivers.yaml", RELEASE)
}

#[tokio::test]
async fn run_finds_removed_driver() -> Result<()> {
    let result = update().run(Storage).await?;
    insta::assert_snapshot!(result, @"
    critical StorageDriverRemoved: 5.2.0 does not include the storage driver disk.platform.example, which is in use.
      remediation: Move volumes to another class: `kubectl get storageclasses`
      url: https://platform.example/storage/drivers
    ");
    let retained = RELEASE.replace("flash", "disk");
    assert!(update().manifest("kept.yaml", &retained).run(Storage).await?.is_clean());
    Ok(())
}

#[tokio::test]
async fn run_with_unreadable_cluster_has_no_result() -> Result<()> {
    let slow = Fault::delay(Duration::from_mins(10));
    for broken in [
        update().without("storageclasses"),
        update().forbidden("storageclasses"),
        update().fault(Fault::refuse(500)),
        update().fault(slow).within(Duration::from_millis(50)),
    ] {
        let result = broken.run(Storage).await?;
        assert_eq!(result.names(), ["StorageCompatibilityUnknown"]);
        assert!(result.cannot_tell().is_some());
    }
    Ok(())
}

#[tokio::test]
async fn run_after_503_retries() -> Result<()> {
    let result = update().fault(Fault::refuse(503).times(2)).run(Storage).await?;
    assert_eq!(result.names(), ["StorageDriverRemoved"]);
    Ok(())
}
