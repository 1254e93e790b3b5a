//! `fairway upgrade plan`, with the graph of the example platform.

use std::fs;
use std::path::Path;

use anyhow::Result;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_testkit::{TestCluster, objects};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{document, status, upgrade};
use crate::update_service::{FILES, UpdateServiceProcess};
use crate::{fairway, transcript};

/// Samples of a cluster to which the risk of 5.2.0 does not apply.
const HEALTHY: &str = "cluster_operator_conditions{name=\"storage\",condition=\"Degraded\"} 0\n";

/// Samples of a cluster to which the risk applies.
const DEGRADED: &str = "cluster_operator_conditions{name=\"storage\",condition=\"Degraded\"} 1\n";

/// The graph-data and the releases of the example platform, and samples.
fn platform() -> Result<TempDir> {
    let directory = tempfile::tempdir()?;
    for (path, text) in fairway_example::graph::data() {
        let path = directory.path().join("graph-data").join(path);
        fs::create_dir_all(path.parent().unwrap_or(directory.path()))?;
        fs::write(path, text)?;
    }
    let arch = fairway_release::architecture::of_machine(std::env::consts::ARCH);
    let releases: Vec<_> = fairway_example::release::RELEASES
        .iter()
        .map(|release| {
            json!({"image": objects::release(release.version).image, "arch": arch,
                   "release-metadata": fairway_example::payload::metadata(release)})
        })
        .collect();
    fs::write(directory.path().join("releases.json"), serde_json::to_vec(&releases)?)?;
    fs::write(directory.path().join("fine.txt"), HEALTHY)?;
    fs::write(directory.path().join("degraded.txt"), DEGRADED)?;
    Ok(directory)
}

/// A cluster at 5.0.0 in stable-5.0 with an update service.
async fn cluster_at(cluster: &TestCluster, upstream: &str) -> Result<()> {
    let api: Api<ClusterVersion> = Api::all(cluster.client());
    let mut object = objects::cluster_version();
    object.spec.channel = Some("stable-5.0".to_owned());
    object.spec.upstream = Some(upstream.to_owned());
    let mut object = api.create(&PostParams::default(), &object).await?;
    let mut status = objects::status_at("5.0.0");
    status.available_updates = Some(vec![objects::release("5.0.1")]);
    object.status = Some(status);
    api.replace_status(CLUSTER_VERSION_NAME, &PostParams::default(), &object).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_of_a_cluster() -> Result<()> {
    check_plan().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn plan_of_a_real_cluster() -> Result<()> {
    check_plan().await
}

async fn check_plan() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let platform = platform()?;
    let service =
        tokio::task::block_in_place(|| UpdateServiceProcess::start(platform.path(), &FILES));
    let address = service.addresses[0].clone();
    tokio::task::block_in_place(|| service.nodes("stable-5.0"));
    cluster_at(&cluster, &format!("http://{address}/api/upgrades_info/v1/graph")).await?;
    let plan = |arguments: &[&str]| {
        let text = upgrade(cluster.kubeconfig(), &[&["plan"], arguments].concat());
        let text = text.replace(&address, "ADDRESS");
        text.replace(&platform.path().display().to_string(), "DIRECTORY")
    };
    let metrics = |name: &str| format!("--metrics={}", platform.path().join(name).display());
    insta::allow_duplicates! {
        insta::assert_snapshot!(plan(&["--to=5.2.0"]), @"
        exit code: 0
        ----- stdout -----
        From 5.0.0 to 5.2.0 in 2 hops. No known issues.

        1. 5.0.0 -> 5.0.1, a patch update
           $ fairway upgrade --to=5.0.1 --wait

        2. 5.0.1 -> 5.2.0, a skip-level update that skips one minor version
           $ fairway upgrade channel stable-5.2
           $ fairway upgrade --mode=preflight --to=5.2.0 --wait
           $ fairway upgrade --to=5.2.0 --yes --wait

        5.2.0 is not available now: it is not in stable-5.0, but in stable-5.2, stable-5.3.

        Source of updates: http://ADDRESS/api/upgrades_info/v1/graph, for stable-5.0, stable-5.1, stable-5.2.
        ");
        insta::assert_snapshot!(plan(&["--to=5.2", &metrics("fine.txt")]), @"
        exit code: 0
        ----- stdout -----
        From 5.0.0 to 5.2.0 in 2 hops. No known issues.

        1. 5.0.0 -> 5.1.0, an update to the next minor version
           $ fairway upgrade channel stable-5.2
           $ fairway upgrade --to=5.1.0 --wait

        2. 5.1.0 -> 5.2.0, an update to the next minor version
           $ fairway upgrade --to=5.2.0 --wait

        5.2.0 is not available now: it is not in stable-5.0, but in stable-5.2, stable-5.3.

        Each release on this path can add risks: run `fairway upgrade plan` again after each update.
        Source of updates: http://ADDRESS/api/upgrades_info/v1/graph, for stable-5.0, stable-5.1, stable-5.2.
        Source of metrics: DIRECTORY/fine.txt.
        ");
        insta::assert_snapshot!(plan(&["--to=5.3", &metrics("degraded.txt")]), @"
        exit code: 3
        ----- stdout -----
        From 5.0.0 to 5.3.0 in 3 hops. Blocked by NodesRestart.

        1. 5.0.0 -> 5.0.1, a patch update
           $ fairway upgrade --to=5.0.1 --wait

        2. 5.0.1 -> 5.2.0, a skip-level update that skips one minor version
           $ fairway upgrade channel stable-5.2
           $ fairway upgrade --mode=preflight --to=5.2.0 --wait
           $ fairway upgrade --to=5.2.0 --yes --wait

        3. 5.2.0 -> 5.3.0, an update to the next minor version
           NodesRestart applies
             All nodes restart once, one after the other. Plan for the time that takes.
             https://platform.example/risks/nodes-restart
           $ fairway upgrade channel stable-5.3
           $ fairway upgrade accept NodesRestart --for=5.3.0
           $ fairway upgrade --to=5.3.0 --wait

        5.3.0 is not available now: it is not in stable-5.0, but in stable-5.3.

        Each release on this path can add risks: run `fairway upgrade plan` again after each update.
        Source of updates: http://ADDRESS/api/upgrades_info/v1/graph, for stable-5.0, stable-5.1, stable-5.2, stable-5.3.
        Source of metrics: DIRECTORY/degraded.txt.
        ");
        insta::assert_snapshot!(plan(&["--to=6.0"]), @"
        exit code: 3
        ----- stdout -----
        No upgrade path from 5.0.0 to 6.0: the update graph has no release 6.0.

        Source of updates: http://ADDRESS/api/upgrades_info/v1/graph, for stable-5.0, stable-5.1, stable-5.2, stable-5.3.
        ");
    }
    let document = document(cluster.kubeconfig(), &["plan", "--to=stable-5.2"])?;
    assert_eq!(document["kind"], "UpgradePlan");
    assert_eq!(document["target"], "5.2.0");
    assert_eq!(document["leastRisk"]["hops"][1]["prerequisites"][1]["type"], "preflight");

    drop(service);
    insta::allow_duplicates! {
        let told = plan(&["--to=5.0"]);
        let known = told.split_once("ADDRESS").map_or(told.as_str(), |(known, _)| known);
        insta::assert_snapshot!(known, @"
        exit code: 0
        ----- stdout -----
        From 5.0.0 to 5.0.1 in 1 hop. No known issues.

        1. 5.0.0 -> 5.0.1, a patch update
           $ fairway upgrade --to=5.0.1 --wait

        Source of updates: ClusterVersion, next updates only (cannot reach http://
        ");
    }
    assert!(plan(&["--to=5.2"]).starts_with("exit code: 4\n"));
    Ok(())
}

/// The transcript of `plan` for a recorded cluster at 5.0.0.
fn plan_of_recording(directory: &Path, arguments: &[&str]) -> String {
    let mut object = objects::cluster_version();
    object.spec.channel = Some("stable-5.0".to_owned());
    object.status = Some(objects::status_at("5.0.0"));
    let text = serde_json::to_string(&object).unwrap();
    fs::write(directory.join("cluster-cv.yaml"), text).unwrap();
    let mut command = fairway();
    command.current_dir(directory).args(["upgrade", "plan", "--from-file=cluster-cv.yaml"]);
    transcript(command.args(arguments))
}

const GRAPH: [&str; 2] = ["--graph=graph-data", "--releases=releases.json"];

#[test]
fn plan_with_recording_and_files() {
    let platform = platform().unwrap();
    let plan =
        |arguments: &[&str]| plan_of_recording(platform.path(), &[arguments, &GRAPH].concat());
    insta::assert_snapshot!(plan(&["--to=5.2", "--metrics=fine.txt"]), @"
    exit code: 4
    ----- stdout -----
    From 5.0.0 to 5.2.0 in 2 hops. Exposure to 2 risks is unknown.

    1. 5.0.0 -> 5.1.0, an update to the next minor version
       AdminAckUnknown may apply: cannot be evaluated
         Cannot read ConfigMap openshift-config-managed/admin-gates: not found in the recorded files.
         Cannot determine whether an administrator has to acknowledge an admin gate before an update to a later minor or major version.
         https://fairway.dev/docs/risks#admin-gates
       ClusterOperatorUpgradeableUnknown may apply: cannot be evaluated
         Cannot list ClusterOperators: not found in the recorded files.
         Cannot determine whether the cluster operators allow an update to a later minor or major version.
         https://fairway.dev/docs/risks#cluster-operators
       $ fairway upgrade channel stable-5.2
       $ fairway upgrade accept AdminAckUnknown,ClusterOperatorUpgradeableUnknown --for=5.1.0
       $ fairway upgrade --to=5.1.0 --wait

    2. 5.1.0 -> 5.2.0, an update to the next minor version
       $ fairway upgrade --to=5.2.0 --wait

    5.2.0 is not available now: it is not in stable-5.0, but in stable-5.2, stable-5.3.

    Each release on this path can add risks: run `fairway upgrade plan` again after each update.
    OLM operators are unknown: not found in the recorded files.
    Source of updates: graph-data.
    Source of metrics: fine.txt.
    ");
    assert_eq!(plan(&["--to=5.3", "-o", "yaml"]), plan(&["--to=5.3", "-o", "yaml"]));

    let mut build = fairway();
    build.current_dir(platform.path()).args(["graph", "build", "--releases=releases.json"]);
    let graph = build.arg("--graph-data=graph-data").output().unwrap();
    fs::write(platform.path().join("graph.json"), graph.stdout).unwrap();
    let from_graph = plan_of_recording(
        platform.path(),
        &["--to=5.2", "--metrics=fine.txt", "--graph=graph.json"],
    );
    assert_eq!(
        from_graph.replace("updates: graph.json", "updates: graph-data"),
        plan(&["--to=5.2", "--metrics=fine.txt"])
    );
}

#[test]
fn plan_with_graph_data_names_the_reason_for_a_missing_update() {
    let platform = platform().unwrap();
    let write = |path: &str, text: &str| {
        fs::write(platform.path().join("graph-data").join(path), text).unwrap();
    };
    write("blocked-edges/5.0.1.yaml", "to: 5.0.1\nfrom: .*\n");
    let plan = |to: &str| plan_of_recording(platform.path(), &[&[to], &GRAPH[..]].concat());
    insta::assert_snapshot!(plan("--to=5.0.1"), @"
    exit code: 3
    ----- stdout -----
    No upgrade path from 5.0.0 to 5.0.1: graph-data blocks the update from 5.0.0.
      blocked-edges/5.0.1.yaml:2:7: removes updates from .*

    OLM operators are unknown: not found in the recorded files.
    Source of updates: graph-data.
    ");
    write("channels/stable-5.0.yaml", "name: stable-5.0\nversions: [5.0.0]\ntombstones: [5.0.1]\n");
    insta::assert_snapshot!(plan("--to=5.0.1"), @"
    exit code: 3
    ----- stdout -----
    No upgrade path from 5.0.0 to 5.0.1: channels/stable-5.0.yaml removes it from stable-5.0.

    OLM operators are unknown: not found in the recorded files.
    Source of updates: graph-data.
    ");
}

#[test]
fn unreachable_targets_are_refused() {
    let platform = platform().unwrap();
    let plan = |arguments: &[&str]| plan_of_recording(platform.path(), arguments);
    insta::assert_snapshot!(plan(&["--to=5.2"]), @"
    exit code: 4
    ----- stdout -----
    No upgrade path from 5.0.0 to 5.2: ClusterVersion lists no update to 5.2.

    OLM operators are unknown: not found in the recorded files.
    Source of updates: ClusterVersion, next updates only (a recorded cluster has no update service; set --graph).
    ");
    insta::assert_snapshot!(plan(&["--to=soon", "--graph=graph.json"]), @r#"
    exit code: 2
    ----- stderr -----
    error: invalid value 'soon' for '--to <GOAL>': "soon" is not a version such as 5.2.3, a minor version such as 5.2, a channel such as stable-5.2, or `latest`

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(plan(&["--to=5.2", "--graph=graph-data"]), @"
    exit code: 2
    ----- stderr -----
    error: graph-data has blocked edges and channels, but no releases; set --releases
    ");
    insta::assert_snapshot!(plan(&["--to=5.2", "--graph=missing.json"]), @r#"
    exit code: 1
    ----- stderr -----
    error: cannot read graph
      caused by: cannot open missing.json
      caused by: No such file or directory (os error 2)
    hint: use the JSON format of an update service: {"nodes": […], "edges": […], …}
    "#);
    insta::assert_snapshot!(plan(&["--to=5.2", "--graph=releases.json"]), @r#"
    exit code: 1
    ----- stderr -----
    error: cannot read graph
      caused by: releases.json: invalid type: sequence, expected an update graph at line 1 column 0
    hint: use the JSON format of an update service: {"nodes": […], "edges": […], …}
    "#);
}

#[test]
fn invalid_samples_are_refused() {
    let platform = platform().unwrap();
    let asking =
        |file: &str| plan_of_recording(platform.path(), &["--to=5.2", file, GRAPH[0], GRAPH[1]]);
    insta::assert_snapshot!(asking("--metrics=nowhere"), @"
    exit code: 1
    ----- stderr -----
    error: cannot read metrics snapshot nowhere
      caused by: No such file or directory (os error 2)
    hint: use the Prometheus text format, or a JSON response of the Prometheus API
    ");
    insta::assert_snapshot!(asking("--metrics=releases.json"), @r#"
    exit code: 1
    ----- stderr -----
    error: cannot read metrics snapshot releases.json
      caused by: line 1: expected a label, found "\"arch\":\"amd64\",\"image\":\"registry.example"
    hint: use the Prometheus text format, or a JSON response of the Prometheus API
    "#);
}

#[test]
fn plan_with_the_graph_of_a_large_platform() {
    let Some(data) = fairway_testkit::environment::data() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut object = objects::cluster_version();
    object.spec.channel = Some("stable-4.16".to_owned());
    object.status = Some(objects::status_at("4.16.7"));
    let file = directory.path().join("cluster-cv.yaml");
    fs::write(&file, serde_json::to_string(&object).unwrap()).unwrap();
    let mut command = fairway();
    command.current_dir(data).args(["upgrade", "plan", "--to=4.18", "--from-file"]).arg(&file);
    let said = transcript(
        command.args(["--graph=graph-data-2026-08", "--releases=releases-2026-08.json"]),
    );
    insta::assert_snapshot!(said, @"
    exit code: 4
    ----- stdout -----
    From 4.16.7 to 4.18.52 in 4 hops. Exposure to 2 risks is unknown.

    1. 4.16.7 -> 4.16.55, a patch update
       $ fairway upgrade --to=4.16.55 --wait

    2. 4.16.55 -> 4.17.50, an update to the next minor version
       AdminAckUnknown may apply: cannot be evaluated
         Cannot read ConfigMap openshift-config-managed/admin-gates: not found in the recorded files.
         Cannot determine whether an administrator has to acknowledge an admin gate before an update to a later minor or major version.
         https://fairway.dev/docs/risks#admin-gates
       ClusterOperatorUpgradeableUnknown may apply: cannot be evaluated
         Cannot list ClusterOperators: not found in the recorded files.
         Cannot determine whether the cluster operators allow an update to a later minor or major version.
         https://fairway.dev/docs/risks#cluster-operators
       $ fairway upgrade channel stable-4.18
       $ fairway upgrade accept AdminAckUnknown,ClusterOperatorUpgradeableUnknown --for=4.17.50
       $ fairway upgrade --to=4.17.50 --wait

    3. 4.17.50 -> 4.18.45, an update to the next minor version
       $ fairway upgrade --to=4.18.45 --wait

    4. 4.18.45 -> 4.18.52, a patch update
       $ fairway upgrade --to=4.18.52 --wait

    4.18.52 is not available now: it is not in stable-4.16, but in stable-4.18, stable-4.19.

    Each release on this path can add risks: run `fairway upgrade plan` again after each update.
    OLM operators are unknown: not found in the recorded files.
    Source of updates: graph-data-2026-08.
    ");
}

#[test]
fn commands_in_documents_name_the_cluster() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("state.yaml");
    let object = ClusterVersion { status: Some(status()), ..objects::cluster_version() };
    fs::write(&file, serde_json::to_vec(&object)?)?;
    let mut command = fairway();
    command.args(["upgrade", "plan", "--to=5.2.0", "--as=alice", "--output=json"]);
    let plan = crate::document(command.arg("--from-file").arg(file));
    let commands = plan["leastRisk"]["hops"][0]["commands"].as_array().cloned().unwrap_or_default();
    assert!(commands.contains(&json!("fairway upgrade --to=5.2.0 --wait --as=alice")), "{plan:#}");
    let is_named = |command: &Value| command.as_str().is_some_and(|it| it.ends_with(" --as=alice"));
    assert!(commands.iter().all(is_named), "{plan:#}");
    Ok(())
}
