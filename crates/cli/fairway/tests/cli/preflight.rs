//! `fairway preflight`.

use std::path::Path;

use anyhow::{Context as _, Result};
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

use crate::{fairway, refusals, transcript};

/// The transcript of `fairway preflight` with an unpacked release. The sandbox runs in the runtime of
/// the test, so the wait needs another thread.
fn preflight(kubeconfig: &Path, release: &Path, arguments: &[&str]) -> String {
    let mut command = fairway();
    command.env("KUBECONFIG", kubeconfig).args(["preflight", "--once", "--release-image"]);
    command.arg(release).args(arguments);
    tokio::task::block_in_place(|| transcript(&mut command))
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_decide_the_exit_code() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let directory = tempfile::tempdir()?;
    let gates = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "admin-gates", "namespace": "openshift-config-managed"},
        "data": {"ack-5.0-disks": "5.1 needs fast disks."},
    });
    TestRelease::new("5.1.0").object("0000_10_gates", gates).write(directory.path())?;
    let of_5_0 = "--source-version=5.0.3";

    let text = preflight(cluster.kubeconfig(), directory.path(), &[of_5_0, "--quiet"]);
    assert!(text.starts_with("exit code: 3\n"), "{text}");
    assert!(text.contains("Preflight of 5.1.0 on a cluster with 5.0.3: "), "{text}");
    assert!(text.contains("\nwarning: AdminAck-ack-5.0-disks (admin-gates)\n"), "{text}");

    let text =
        preflight(cluster.kubeconfig(), directory.path(), &[of_5_0, "--quiet", "-o", "json"]);
    let json = text.split_once("stdout -----\n").with_context(|| text.clone())?.1;
    let document: Value = serde_json::from_str(json).with_context(|| text.clone())?;
    assert_eq!(document["kind"], "Preflight");
    assert_eq!(document["executionStatus"], "completed");
    assert_eq!(document["sourceVersion"], "5.0.3");

    let text = preflight(cluster.kubeconfig(), directory.path(), &["--quiet"]);
    assert!(text.starts_with("exit code: 4\n"), "the cluster has no version: {text}");
    Ok(())
}

#[test]
fn invalid_input_is_refused() {
    let started = ["--results=/results", "--run=0123456789abcdef0123456789abcdef"];
    let mut newer = fairway();
    newer.args(["preflight", "--format=preflight-v2-json", "--release-image=registry.example/a"]);
    newer.arg("--source-version=5.0.0").args(started);
    let mut alone = fairway();
    alone.args(["preflight", "--release-image=registry.example/a", "--run=7"]);
    let texts = [transcript(&mut newer), transcript(&mut alone)];
    insta::assert_snapshot!(refusals(texts), @r#"
    2: error: this release supports the result format preflight-v1-json, not "preflight-v2-json"
    2: error: invalid value '7' for '--run <ID>': not 32 hexadecimal digits
    "#);
}
