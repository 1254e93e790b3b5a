//! `fairway fleet`, with several clusters of which one is unreachable.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, Conditions as _, OperatorCondition};
use fairway_findings::Severity;
use fairway_testkit::{TestCluster, objects, wait};
use kube::api::{Api, PostParams};
use kube::config::Kubeconfig;
use serde_json::Value;
use tempfile::TempDir;

use crate::upgrade::create_cluster_version;
use crate::upgrade::preflight::{
    CLEAN, create_idle_cluster, desired, results, set_conditions, store,
};
use crate::{document, fairway, transcript};

/// Two clusters, contexts `prod` and `lab` of a kubeconfig. The cluster of context `away` is unreachable.
struct Fleet {
    prod: TestCluster,
    lab: TestCluster,
    directory: TempDir,
}

impl Fleet {
    async fn start() -> Result<Self> {
        let prod = TestCluster::start_sandbox(&["node-1"]).await?;
        let lab = TestCluster::start_sandbox(&["node-1"]).await?;
        let directory = tempfile::tempdir()?;
        let mut all = Kubeconfig::default();
        for (name, path) in [("prod", prod.kubeconfig()), ("lab", lab.kubeconfig())] {
            add(&mut all, name, path)?;
        }
        add(&mut all, "away", prod.kubeconfig())?;
        let away = all.clusters.last_mut().and_then(|named| named.cluster.as_mut());
        away.context("no cluster")?.server = Some("https://127.0.0.1:1".to_owned());
        fs::write(directory.path().join("kubeconfig"), serde_json::to_string(&all)?)?;
        Ok(Self { prod, lab, directory })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = fairway();
        command.arg("fleet").args(arguments);
        command.env("KUBECONFIG", self.directory.path().join("kubeconfig"));
        command
    }

    fn transcript_of(&self, arguments: &[&str]) -> String {
        let mut command = self.command(arguments);
        tokio::task::block_in_place(|| transcript(&mut command))
    }

    fn document(&self, arguments: &[&str]) -> Value {
        let mut command = self.command(arguments);
        tokio::task::block_in_place(|| document(command.arg("--output=json")))
    }
}

/// Adds the context of a kubeconfig to another one.
fn add(all: &mut Kubeconfig, name: &str, path: &Path) -> Result<()> {
    let mut one = Kubeconfig::read_from(path)?;
    for cluster in &mut one.clusters {
        name.clone_into(&mut cluster.name);
    }
    for user in &mut one.auth_infos {
        name.clone_into(&mut user.name);
    }
    for named in &mut one.contexts {
        name.clone_into(&mut named.name);
        let context = named.context.as_mut().context("an empty context")?;
        name.clone_into(&mut context.cluster);
        context.user = Some(name.to_owned());
    }
    all.clusters.append(&mut one.clusters);
    all.auth_infos.append(&mut one.auth_infos);
    all.contexts.append(&mut one.contexts);
    Ok(())
}

/// Sets the condition `Failing`.
async fn set_failing(api: &Api<ClusterVersion>) -> Result<()> {
    let mut object = api.get(CLUSTER_VERSION_NAME).await?;
    let status = object.status.as_mut().context("no status")?;
    let failing = OperatorCondition::new("Failing", true);
    let failing = failing.reason("ClusterOperatorNotAvailable").message("etcd is not available.");
    status.conditions.set(failing, objects::beginning().0);
    api.replace_status(CLUSTER_VERSION_NAME, &PostParams::default(), &object).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn status_lists_clusters_and_unreachable_ones() -> Result<()> {
    let fleet = Fleet::start().await?;
    create_cluster_version(&fleet.prod).await?;
    set_failing(&create_cluster_version(&fleet.lab).await?).await?;
    insta::assert_snapshot!(fleet.transcript_of(&["report", "--all-contexts", "--to=5.1.1,5.2.0", "-q"]), @"
    exit code: 3
    ----- stdout -----
    CLUSTER  AT     TO     UPDATE                      BLOCKED BY
    prod     5.1.0  5.1.1  recommended                 –
                    5.2.0  not recommended: SlowDisks  –
    lab      5.1.0  5.1.1  recommended                 Failing
                    5.2.0  not recommended: SlowDisks  Failing
    away     –      –      error                       –

    Unaccepted risks:

      SlowDisks: 2 clusters (prod, lab), to 5.2.0
        Nodes with slow disks may miss leases.
        https://example.com/slow-disks

    Blockers:

      lab: Failing (ClusterOperatorNotAvailable)
        etcd is not available.

    Clusters with errors:

      away: cannot reach the API server at https://127.0.0.1:1: Connection refused (os error 111)
        hint: check that the server is running and reachable: `kubectl cluster-info`

    3 clusters: 0 can update to 5.1.1 and 5.2.0, 2 cannot, 1 unknown.
    ");
    let ends = |arguments: &[&str]| {
        let transcript_of = fleet.transcript_of(&[&["report", "--quiet"], arguments].concat());
        transcript_of.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(ends(&["--contexts=prod", "--to=5.1.1"]), "exit code: 0");
    assert_eq!(ends(&["--contexts=prod,lab", "--to=5.1.1"]), "exit code: 3");
    assert_eq!(ends(&["--contexts=prod,away", "--to=5.1.1"]), "exit code: 4");
    assert_eq!(ends(&["--contexts=away"]), "exit code: 1");

    let report = fleet.document(&["report", "--contexts=prod,prod,away", "--to=5.1.1,5.2.0"]);
    assert_eq!(report["kind"], "FleetReport");
    assert_eq!(report["clusters"].as_array().map(Vec::len), Some(2), "each is asked once");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn preflight_runs_on_each_cluster() -> Result<()> {
    let fleet = Fleet::start().await?;
    let (prod, lab) =
        (create_idle_cluster(&fleet.prod).await?, create_idle_cluster(&fleet.lab).await?);
    store(&fleet.lab, &results("5.2.0", &[("DualStack", Severity::Critical)])).await?;
    store(&fleet.prod, &results("5.2.0", &[])).await?;
    let mut command =
        fleet.command(&["preflight", "--all-contexts", "--to=5.2.0", "--wait=4m", "--quiet"]);
    let asking = tokio::task::spawn_blocking(move || transcript(&mut command));
    for (api, completed) in [(&prod, "NoRisksFound"), (&lab, "RisksFound")] {
        wait::until("the request", || async {
            let asked = desired(api).await?.is_some_and(|update| update.mode.is_some());
            Ok(asked.then_some(()))
        })
        .await?;
        set_conditions(api, [CLEAN[0], ("PreflightCompleted", true, completed), CLEAN[2]]).await?;
    }
    insta::assert_snapshot!(asking.await?, @"
    exit code: 3
    ----- stdout -----
    CLUSTER  REQUEST    RESULT
    prod     requested  no findings
    lab      requested  1 finding: DualStack
    away     failed     cannot reach the API server at https://127.0.0.1:1: Connection refused (os error 111)

    hint for away: check that the server is running and reachable: `kubectl cluster-info`

    Show the state of each cluster with
      fairway fleet report --all-contexts --to=5.2.0
    ");

    let report = fleet.document(&["report", "--contexts=prod,lab", "--to=5.2.0"]);
    let preflights = [0, 1].map(|number: usize| {
        let preflight = &report["clusters"][number]["targets"][0]["preflight"];
        assert!(preflight["ageSeconds"].is_i64(), "{preflight}");
        (preflight["result"].as_str(), preflight["findings"].clone())
    });
    assert_eq!(preflights[0], (Some("noFindings"), Value::Array(Vec::new())));
    assert_eq!(preflights[1], (Some("findings"), vec!["DualStack"].into()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn preflight_skips_clusters_without_support() -> Result<()> {
    let fleet = Fleet::start().await?;
    let (prod, lab) =
        (create_idle_cluster(&fleet.prod).await?, create_cluster_version(&fleet.lab).await?);
    let asked = fleet.document(&["preflight", "--all-contexts", "--to=5.2.0", "--no-wait"]);
    let outcomes = asked["clusters"].as_array().context("no clusters")?;
    let printed: Vec<_> =
        outcomes.iter().map(|one| (&one["exitCode"], &one["outcome"]["action"])).collect();
    let (made, none) = (Value::from("requested"), Value::Null);
    assert_eq!(printed, [(&0.into(), &made), (&4.into(), &none), (&4.into(), &none)]);
    ensure!(desired(&prod).await?.is_some_and(|update| update.mode.is_some()), "no request");
    ensure!(desired(&lab).await?.is_none(), "that would have been an update");
    Ok(())
}

/// A directory with the files of recorded clusters.
fn recorded() -> Result<(TempDir, PathBuf)> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("recorded");
    fs::create_dir(&path)?;
    let mut object = objects::cluster_version();
    object.status = Some(crate::upgrade::status());
    fs::write(path.join("prod-cv.yaml"), serde_json::to_string(&object)?)?;
    let status = object.status.as_mut().context("no status")?;
    status.conditional_updates.clear();
    status.available_updates = Some(vec![objects::release("5.2.0")]);
    fs::write(path.join("lab-cv.yaml"), serde_json::to_string(&object)?)?;
    fs::write(path.join("torn-cv.yaml"), "kind: [")?;
    Ok((directory, path))
}

#[test]
fn status_of_recorded_clusters() -> Result<()> {
    let (directory, path) = recorded()?;
    let dir = format!("--dir={}", path.display());
    let transcript_of = |arguments: &[&str]| {
        let transcript_of =
            transcript(fairway().args(["fleet", "report", "--quiet", &dir]).args(arguments));
        transcript_of.replace(&directory.path().display().to_string(), "DIR")
    };
    insta::assert_snapshot!(transcript_of(&["--to=5.2.0"]), @"
    exit code: 3
    ----- stdout -----
    CLUSTER  AT     TO     UPDATE
    lab      5.1.0  5.2.0  recommended
    prod     5.1.0  5.2.0  not recommended: SlowDisks
    torn     –      –      error

    Unaccepted risks:

      SlowDisks: 1 cluster (prod), to 5.2.0
        Nodes with slow disks may miss leases.
        https://example.com/slow-disks

    Clusters with errors:

      torn: DIR/recorded/torn-cv.yaml:1:7: unclosed bracket '['

    3 clusters: 1 can update to 5.2.0, 1 cannot, 1 unknown.
    ");
    insta::assert_snapshot!(transcript_of(&[]), @"
    exit code: 4
    ----- stdout -----
    CLUSTER  AT     TO     UPDATE
    lab      5.1.0  5.2.0  recommended
    prod     5.1.0  5.2.0  not recommended: SlowDisks
                    5.1.1  recommended
    torn     –      –      error

    Unaccepted risks:

      SlowDisks: 1 cluster (prod), to 5.2.0
        Nodes with slow disks may miss leases.
        https://example.com/slow-disks

    Clusters with errors:

      torn: DIR/recorded/torn-cv.yaml:1:7: unclosed bracket '['

    3 clusters: 2 can update, 0 cannot, 1 unknown.
    ");
    fs::remove_file(path.join("torn-cv.yaml"))?;
    assert!(transcript_of(&["--to=5.2.0"]).starts_with("exit code: 3"));
    fs::remove_file(path.join("prod-cv.yaml"))?;
    assert!(transcript_of(&["--to=5.2.0"]).starts_with("exit code: 0"));
    fs::remove_file(path.join("lab-cv.yaml"))?;
    insta::assert_snapshot!(transcript_of(&[]), @"
    exit code: 1
    ----- stderr -----
    error: DIR/recorded contains no recorded clusters
    hint: record one with `kubectl get clusterversion version -o yaml > DIR/X-cv.yaml`
    ");
    Ok(())
}

#[test]
fn selection_without_clusters_is_refused() {
    let transcript_of = |arguments: &[&str]| transcript(fairway().arg("fleet").args(arguments));
    let refused = [
        transcript_of(&["report"]),
        transcript_of(&["report", "--contexts=a", "--all-contexts"]),
        transcript_of(&["report", "--contexts=a", "--context=b"]),
        transcript_of(&["report", "--contexts=,"]),
        transcript_of(&["preflight", "--contexts=a"]),
        transcript_of(&["preflight", "--all-contexts", "--to=5.2"]),
    ];
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn help() {
    let helps = ["report", "preflight"]
        .map(|command| transcript(fairway().args(["fleet", command, "--help"])));
    insta::assert_snapshot!(helps.join("\n"));
}
