//! `fairway olm check`.

use anyhow::Result;
use serde_json::json;

use crate::{document, fairway, transcript};

/// A package with two bundles in a channel; the newer one supports versions up to 4.10.
const CATALOG: &str = r#"
{"schema": "olm.package", "name": "etcd", "defaultChannel": "stable"}
{"schema": "olm.channel", "package": "etcd", "name": "stable", "entries": [{"name": "etcd.v1"}, {"name": "etcd.v2", "replaces": "etcd.v1"}]}
{"schema": "olm.bundle", "package": "etcd", "name": "etcd.v1", "properties": [{"type": "olm.package", "value": {"version": "1.0.0"}}, {"type": "olm.maxOpenShiftVersion", "value": "4.8"}]}
{"schema": "olm.bundle", "package": "etcd", "name": "etcd.v2", "properties": [{"type": "olm.package", "value": {"version": "2.0.0"}}, {"type": "olm.maxOpenShiftVersion", "value": "4.10"}]}
"#;

#[test]
fn newest_bundle_of_a_channel_decides() -> Result<()> {
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("a.json"), CATALOG)?;
    for (version, code, result) in [("4.9", 0, "installable"), ("4.11", 3, "refused")] {
        let mut command = fairway();
        command.current_dir(&directory).args(["olm", "check", "--catalog=."]);
        let printed = transcript(command.arg(format!("--cluster-version={version}")));
        assert!(printed.starts_with(&format!("exit code: {code}\n")), "{printed}");
        let newest = format!("etcd.v2: {result}, supports up to 4.10; newest of stable\n");
        assert!(printed.contains(&newest), "{printed}");
        let bundles = &document(command.arg("--output=json"))["packages"][0]["bundles"];
        assert_eq!(bundles[0]["headChannels"], json!(["stable"]), "{bundles}");
    }
    Ok(())
}
