//! `fairway olm check`.

use anyhow::Result;
use serde_json::json;

use crate::{document, fairway, transcript};

/// A package with two bundles in a channel; the newer one supports versions up to 4.10.
const CATALOG: &str = r#"
schema: olm.package
name: etcd
defaultChannel: stable
---
schema: olm.channel
package: etcd
name: stable
entries:
- name: etcd.v1.0.0
- name: etcd.v1.1.0
  replaces: etcd.v1.0.0
---
schema: olm.bundle
package: etcd
name: etcd.v1.0.0
properties:
- type: olm.package
  value: {packageName: etcd, version: 1.0.0}
- type: olm.maxOpenShiftVersion
  value: "4.8"
---
schema: olm.bundle
package: etcd
name: etcd.v1.1.0
properties:
- type: olm.package
  value: {packageName: etcd, version: 1.1.0}
- type: olm.maxOpenShiftVersion
  value: MAXIMUM
"#;

#[test]
fn newest_bundle_of_a_channel_decides() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut printed = Vec::new();
    for (maximum, version) in [("\"4.10\"", "4.9"), ("\"4.10\"", "4.11"), ("4.10", "4.9")] {
        std::fs::write(directory.path().join("a.yaml"), CATALOG.replace("MAXIMUM", maximum))?;
        let mut command = fairway();
        command.current_dir(&directory).args(["olm", "check", "--catalog=."]);
        printed.push(transcript(command.arg(format!("--cluster-version={version}"))));
        let report = document(command.arg("--output=json"));
        assert_eq!(report["packages"][0]["bundles"][0]["headChannels"], json!(["stable"]));
    }
    insta::assert_snapshot!(printed.join("\n"), @r#"
    exit code: 0
    ----- stdout -----
    Platform 4.9:

    etcd
      etcd.v1.1.0: installable, supports up to 4.10; newest of stable
      etcd.v1.0.0: refused, supports up to 4.8

    exit code: 3
    ----- stdout -----
    Platform 4.11:

    etcd
      etcd.v1.1.0: refused, supports up to 4.10; newest of stable
      etcd.v1.0.0: refused, supports up to 4.8

    exit code: 3
    ----- stdout -----
    Platform 4.9:

    etcd
      etcd.v1.1.0: installable, supports up to 4.10; newest of stable
      etcd.v1.0.0: refused, supports up to 4.8

    error: ./a.yaml:30:10: etcd.v1.1.0: the maximum version 4.10 is a number and loses trailing zeros: quote it as "4.10"
    "#);
    Ok(())
}
