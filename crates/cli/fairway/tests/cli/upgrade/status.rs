//! `status` and `recommend`, for live and recorded clusters.

use std::process::Command;

use anyhow::{Context, Result};
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _, OperatorCondition};
use fairway_testkit::{TestCluster, environment, objects};
use kube::api::{Api, PostParams};

use super::{create_cluster_version, document, upgrade};

/// A script beside the recordings compares the facts in both texts.
#[test]
fn status_of_recordings_has_the_facts_of_oc() {
    let Some(folder) = environment::conformance("oc") else { return };
    let mut check = Command::new("python3");
    check.arg(folder.join("check")).arg(env!("CARGO_BIN_EXE_fairway")).arg(&folder);
    let transcript = crate::transcript(&mut check);
    assert!(transcript.starts_with("exit code: 0\n"), "{transcript}");
    println!("{transcript}");
}

#[test]
fn status_of_the_same_recording_is_deterministic() {
    let Some(folder) = environment::conformance("oc") else { return };
    let file = folder.join("status/4.15.0-ec2-early-cv.yaml");
    for arguments in [&["-o", "json"][..], &["-o", "yaml"], &["--details=all"]] {
        let printed = || {
            let mut command = crate::fairway();
            command.args(["upgrade", "status", "--from-file"]).arg(&file).args(arguments);
            crate::transcript(&mut command)
        };
        assert_eq!(printed(), printed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn status_of_an_update() -> Result<()> {
    check_status().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn status_of_an_update_in_a_real_cluster() -> Result<()> {
    check_status().await
}

async fn check_status() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let versions = create_cluster_version(&cluster).await?;
    insta::allow_duplicates! {
        insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &["status"]), @"
        exit code: 4
        ----- stderr -----
        error: the cluster has no ClusterOperators, so the progress of the update is unknown
        hint: run `fairway upgrade` to show the state of ClusterVersion
        ");
    }
    component(&cluster).await?;
    insta::allow_duplicates! {
        insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &["status"]), @"
        exit code: 0
        ----- stdout -----
        The cluster is not updating.
        ");
    }

    let watched = upgrade(cluster.kubeconfig(), &["status", "--watch"]);
    assert_eq!(watched, upgrade(cluster.kubeconfig(), &["status"]), "nothing is to be watched");

    begin(&versions, "5.1.1").await?;
    let watched = upgrade(cluster.kubeconfig(), &["status", "--watch", "--timeout=1s"]);
    assert!(watched.starts_with("exit code: 5\n"), "{watched}");
    let printed = document(cluster.kubeconfig(), &["status"])?;
    assert_eq!(printed["kind"], "UpgradeStatus");
    assert_eq!(
        (&printed["updating"], &printed["controlPlane"]["target"]),
        (&true.into(), &"5.1.1".into())
    );
    assert_eq!(printed["controlPlane"]["operators"]["waiting"], 1);
    assert_eq!(printed["pendingResources"][0]["kind"], "clusterVersion");
    assert_eq!(printed["alerts"]["available"], false);
    Ok(())
}

/// Creates a ClusterOperator at 5.1.0.
pub(super) async fn component(cluster: &TestCluster) -> Result<()> {
    let operators: Api<ClusterOperator> = Api::all(cluster.client());
    let mut operator = objects::cluster_operator("network");
    let annotation = "include.release.openshift.io/self-managed-high-availability".to_owned();
    operator.metadata.annotations = Some([(annotation, "true".to_owned())].into());
    let mut operator = operators.create(&PostParams::default(), &operator).await?;
    operator.status = Some(objects::working_at("5.1.0"));
    operators.replace_status("network", &PostParams::default(), &operator).await?;
    Ok(())
}

/// Sets the status of an update in progress.
pub(super) async fn begin(versions: &Api<ClusterVersion>, version: &str) -> Result<()> {
    let mut object = versions.get("version").await?;
    let status = object.status.as_mut().context("no status")?;
    let now = objects::beginning().0;
    let mut entry = status.history[0].clone();
    entry.state = "Partial".into();
    entry.version = Some(version.to_owned());
    status.history.insert(0, entry);
    status.desired = objects::release(version);
    let progressing = OperatorCondition::new("Progressing", true).message("Working towards it");
    status.conditions.set(progressing, now);
    versions.replace_status("version", &PostParams::default(), &object).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn recommend_lists_issues() -> Result<()> {
    check_recommendations().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn recommend_lists_issues_in_a_real_cluster() -> Result<()> {
    check_recommendations().await
}

async fn check_recommendations() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let ask =
        |arguments: &[&str]| upgrade(cluster.kubeconfig(), &[&["recommend"], arguments].concat());
    insta::allow_duplicates! {
        insta::assert_snapshot!(ask(&[]), @"
        exit code: 0
        ----- stdout -----
        Alerts are unknown: the cluster has no metrics service.

        Upstream is unset, so the cluster will use an appropriate default.
        Channel: stable-5.1

        Updates to 5.2:
          5.2.0  Recommended=False: SlowDisks
            Nodes with slow disks may miss leases. https://example.com/slow-disks

        Updates to 5.1:
          5.1.1  no known issues
        ");
        insta::assert_snapshot!(ask(&["--version=5.2.0"]), @"
        exit code: 3
        ----- stdout -----
        Alerts are unknown: the cluster has no metrics service.

        Upstream is unset, so the cluster will use an appropriate default.
        Channel: stable-5.1

        Recommended=False for 5.2.0:
          Reason: SlowDisks
          Risks: SlowDisks
          Nodes with slow disks may miss leases. https://example.com/slow-disks
          Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e

        Not accepted: ConditionalUpdateRisk
        To ignore these issues, add --accept=ConditionalUpdateRisk.
        ");
        insta::assert_snapshot!(ask(&["--version=5.2.0", "--accept=SlowDisks"]), @"
        exit code: 0
        ----- stdout -----
        Alerts are unknown: the cluster has no metrics service.

        Upstream is unset, so the cluster will use an appropriate default.
        Channel: stable-5.1

        Recommended=False for 5.2.0 (accepted):
          Reason: SlowDisks
          Risks: SlowDisks
          Nodes with slow disks may miss leases. https://example.com/slow-disks
          Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e

        Accepted: ConditionalUpdateRisk. No other known issues.
        ");
        insta::assert_snapshot!(ask(&["--version=6.0.0"]), @"
        exit code: 4
        ----- stdout -----
        Alerts are unknown: the cluster has no metrics service.

        Upstream is unset, so the cluster will use an appropriate default.
        Channel: stable-5.1

        No recommendation for this version: no updates to 6 are available.
        ");
    }
    insta::assert_snapshot!(ask(&["--version=5.2.0", "--show-outdated-releases"]), @"
    exit code: 2
    ----- stderr -----
    error: the argument '--version <VERSION>' cannot be used with '--show-outdated-releases'

    Usage: fairway upgrade recommend --version <VERSION>

    For more information, try '--help'.
    ");
    Ok(())
}
