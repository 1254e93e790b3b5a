//! `fairway upgrade` without a request.

use std::process::Command;

use anyhow::Result;
use fairway_api::ClusterOperator;
use fairway_testkit::{TestCluster, objects};
use kube::api::{Api, PostParams};
use serde_json::json;

use super::{create_cluster_version, document, upgrade};

#[tokio::test(flavor = "multi_thread")]
async fn report_lists_updates() -> Result<()> {
    check_report().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn report_lists_updates_in_a_real_cluster() -> Result<()> {
    check_report().await
}

async fn check_report() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    insta::allow_duplicates! {
        insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &[]), @r#"
        exit code: 4
        ----- stderr -----
        error: this cluster has no ClusterVersion named "version"
        hint: check --context; the installation of a platform creates this object
        "#);
    }
    create_cluster_version(&cluster).await?;
    let report = upgrade(cluster.kubeconfig(), &["--include-not-recommended"]);
    insta::allow_duplicates! {
        insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &[]), @"
        exit code: 0
        ----- stdout -----
        Cluster version is 5.1.0

        Upstream is unset, so the cluster will use an appropriate default.
        Channel: stable-5.1

        Recommended updates:

          VERSION     IMAGE
          5.1.1       registry.example/release@sha256:4ccec3fd47ee5162962804420d4b53c8ee5ecfc827f79ffd21e679b305742003

        Additional updates which are not recommended based on your cluster configuration are available, to view those re-run the command with --include-not-recommended.
        ");
        insta::assert_snapshot!(report.split("\n\n").skip(4).collect::<Vec<_>>().join("\n\n"), @"
        Supported but not recommended updates:

          Version: 5.2.0
          Image: registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e
          Recommended: False
          Reason: SlowDisks
          Message: Nodes with slow disks may miss leases. https://example.com/slow-disks
          Risks:
            SlowDisks: applies
        ");
    }
    let document = document(cluster.kubeconfig(), &[])?;
    assert_eq!(document["kind"], "UpgradeReport");
    assert_eq!(document["recommended"][0]["version"], "5.1.1");
    assert_eq!(document["notRecommended"][0]["risks"][0]["exposure"], "exposed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_of_components_are_shown_and_do_not_block() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let api: Api<ClusterOperator> = Api::all(cluster.client());
    let name = "operator-lifecycle-manager";
    let mut component = objects::cluster_operator(name);
    component = api.create(&PostParams::default(), &component).await?;
    let mut status = objects::working_at("5.1.0");
    status.extension = Some(json!({"kind": "RiskReport", "version": "v1", "notes": [
        {"message": "These operators may not run there: team/silent.v1", "targets": ">=5.2.0"},
        {"message": "This is about nothing that is listed.", "targets": ">=6.0.0"},
    ]}));
    component.status = Some(status);
    api.replace_status(name, &PostParams::default(), &component).await?;

    let report = upgrade(cluster.kubeconfig(), &[]);
    insta::assert_snapshot!(report.split("\n\n").skip(4).collect::<Vec<_>>().join("\n\n"), @"
    Additional updates which are not recommended based on your cluster configuration are available, to view those re-run the command with --include-not-recommended.

    Notes:

      5.2.0: These operators may not run there: team/silent.v1
    ");
    let document = document(cluster.kubeconfig(), &[])?;
    insta::assert_snapshot!(document["notes"], @r#"[{"component":"operator-lifecycle-manager","message":"These operators may not run there: team/silent.v1","updates":["5.2.0"]}]"#);
    let printed = upgrade(cluster.kubeconfig(), &["recommend", "--version=5.1.1"]);
    assert!(!printed.contains("may not run"), "{printed}");
    let printed = upgrade(cluster.kubeconfig(), &["recommend", "--version=5.2.0"]);
    assert!(printed.contains("\n  5.2.0: These operators may not run there"), "{printed}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_plugin_prints_the_same_report() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let directory = tempfile::tempdir()?;
    let plugin = directory.path().join("kubectl-fairway");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fairway"), &plugin)?;
    let mut command = Command::new(plugin);
    command.arg("upgrade").env("KUBECONFIG", cluster.kubeconfig());
    let as_a_plugin = tokio::task::block_in_place(|| crate::transcript(&mut command));
    assert_eq!(as_a_plugin, upgrade(cluster.kubeconfig(), &[]));
    Ok(())
}
