//! The check of the guide, tested as the guide says.

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
async fn a_driver_that_is_gone_is_found() -> Result<()> {
    let said = update().run(Storage).await?;
    insta::assert_snapshot!(said, @"
    critical StorageDriverRemoved: 5.2.0 does not bring the storage driver disk.platform.example, which is in use.
      remediation: Move volumes to another class: `kubectl get storageclasses`
      url: https://platform.example/storage/drivers
    ");
    let kept = RELEASE.replace("flash", "disk");
    assert!(update().manifest("kept.yaml", &kept).run(Storage).await?.is_clean());
    Ok(())
}

#[tokio::test]
async fn where_it_cannot_look_it_cannot_tell() -> Result<()> {
    let slow = Fault::delay(Duration::from_mins(10));
    for broken in [
        update().without("storageclasses"),
        update().forbidden("storageclasses"),
        update().fault(Fault::refuse(500)),
        update().fault(slow).within(Duration::from_millis(50)),
    ] {
        let said = broken.run(Storage).await?;
        assert_eq!(said.names(), ["StorageCompatibilityUnknown"]);
        assert!(said.cannot_tell().is_some());
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_comes_back_is_asked_again() -> Result<()> {
    let said = update().fault(Fault::refuse(503).times(2)).run(Storage).await?;
    assert_eq!(said.names(), ["StorageDriverRemoved"]);
    Ok(())
}
