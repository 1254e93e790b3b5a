//! `fairway olm list`.

use anyhow::{Context as _, Result};
use fairway_api::ClusterVersion;
use fairway_testkit::{TestCluster, olm};
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use super::{OPERATORS, install, prepare, run, up_to};

#[tokio::test(flavor = "multi_thread")]
async fn recording_gives_the_same_list_as_the_cluster() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let namespace = cluster.namespace("team").await?;
    prepare(&cluster).await?;
    let mut copy = up_to("4.9");
    copy["labels"] = json!({"olm.copiedFrom": "elsewhere"});
    for (name, metadata) in [
        ("copy.v1", copy),
        ("later.v1", up_to("5.2")),
        ("old.v1", up_to("5.1")),
        ("silent.v1", json!({})),
        ("vague.v1", up_to("5.x")),
    ] {
        install(&cluster, namespace.name(), name, metadata).await?;
    }
    let list = |arguments: &[&str]| {
        let printed = run(cluster.kubeconfig(), &[&["olm", "list"], arguments].concat());
        printed.replace(namespace.name(), "NS")
    };
    let live = list(&[]);
    insta::assert_snapshot!(live, @r#"
    exit code: 0
    ----- stdout -----
    The cluster runs 5.1.

    NS/later.v1
      supports up to 5.2 (annotation operators.coreos.com/maxOpenShiftVersion)
      5.3.0: will not run
      5.2.0, 5.1.1: upgradeable

    NS/old.v1
      supports up to 5.1 (annotation operators.coreos.com/maxOpenShiftVersion)
      5.3.0, 5.2.0: will not run
      5.1.1: upgradeable

    NS/silent.v1
      declares no maximum version
      5.3.0, 5.2.0: may not run
      5.1.1: upgradeable

    NS/vague.v1
      declares an invalid maximum version: failed to parse "5.x" as semver: unexpected character 'x' while parsing minor version number
      5.3.0, 5.2.0: may not run
      5.1.1: upgradeable
    "#);

    let state = json!({"kind": "List", "items": state(&cluster, namespace.name()).await?});
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("state.yaml");
    std::fs::write(&file, state.to_string())?;
    let file = format!("--from-file={}", file.display());
    assert_eq!(list(&[&file]), live);

    let document = list(&["-o", "json"]);
    let document = document.split_once("stdout -----\n").context("no document")?.1;
    let document: Value = serde_json::from_str(document)?;
    assert_eq!(document["kind"], "OperatorList");
    let first = &document["operators"][0];
    assert_eq!((&first["name"], &first["maximum"]), (&json!("later.v1"), &json!("5.2")));

    for (arguments, code) in [
        (["--to=5.1.7", "--missing=block"], 0),
        (["--to=5.2.0", "--missing=block"], 3),
        (["--to=5.2.0", "-v"], 3),
    ] {
        let printed = list(&arguments);
        assert!(printed.starts_with(&format!("exit code: {code}\n")), "{arguments:?}: {printed}");
    }
    cluster.clean_up(|client| async move {
        olm::remove(&client).await;
        Ok(())
    });
    Ok(())
}

/// ClusterVersion and the OLM objects of a namespace, as `kubectl get -o json` returns them.
async fn state(cluster: &TestCluster, namespace: &str) -> Result<Vec<Value>> {
    let version = Api::<ClusterVersion>::all(cluster.client()).get("version").await?;
    let operators = olm::objects(&cluster.client(), OPERATORS, namespace)?;
    let operators = operators.list(&ListParams::default()).await?.items;
    let mut state = vec![serde_json::to_value(version)?];
    for operator in operators {
        let mut operator = serde_json::to_value(operator)?;
        operator["kind"] = json!(OPERATORS);
        state.push(operator);
    }
    Ok(state)
}

#[test]
fn missing_file_is_reported() {
    let printed =
        crate::transcript(crate::fairway().args(["olm", "list", "--from-file=/nowhere/a"]));
    insta::assert_snapshot!(printed, @"
    exit code: 1
    ----- stderr -----
    error: /nowhere/a does not exist
    hint: record it with `kubectl get clusterversion version -o yaml > X-cv.yaml`
    ");
}

#[test]
fn recording_without_operators_has_no_result() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x-cv.yaml");
    let version = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version"}, "spec": {"clusterID": ""},
        "status": {
            "desired": {"version": "5.1.0", "image": "x"},
            "history": [{"state": "Completed", "version": "5.1.0"}],
        },
    });
    std::fs::write(&file, version.to_string()).unwrap();
    let mut command = crate::fairway();
    command.args(["olm", "list", "--to=5.2.0"]).arg(format!("--from-file={}", file.display()));
    insta::assert_snapshot!(crate::transcript(&mut command), @"
    exit code: 4
    ----- stdout -----
    The cluster runs 5.1.
    OLM operators are unknown.

    Skipped: operators: the recorded cluster contains no ClusterServiceVersions
    ");
}
