//! Reports of a cluster and of its must-gather.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use fairway_api::ClusterOperator;
use fairway_testkit::{TestCluster, objects};
use kube::api::{Api, PostParams};

use super::{create_cluster_version, upgrade};

/// Kinds, and their files in a must-gather.
const FILES: [(&str, &str); 4] = [
    (
        "cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml",
        "/apis/config.openshift.io/v1/clusterversions/version",
    ),
    (
        "cluster-scoped-resources/config.openshift.io/clusteroperators.yaml",
        "/apis/config.openshift.io/v1/clusteroperators",
    ),
    ("cluster-scoped-resources/core/nodes.yaml", "/api/v1/nodes"),
    (
        "namespaces/openshift-cluster-version/core/configmaps.yaml",
        "/api/v1/namespaces/openshift-cluster-version/configmaps",
    ),
];

/// A kubeconfig that does not exist.
const NO_CLUSTER: &str = "/nowhere/kubeconfig";

#[tokio::test(flavor = "multi_thread")]
async fn must_gather_gives_the_same_reports_as_the_cluster() -> Result<()> {
    compare().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn must_gather_gives_the_same_reports_as_a_real_cluster() -> Result<()> {
    compare().await
}

async fn compare() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let operators: Api<ClusterOperator> = Api::all(cluster.client());
    let operator = objects::cluster_operator("network");
    let mut operator = operators.create(&PostParams::default(), &operator).await?;
    operator.status = Some(objects::working_at("5.1.0"));
    operators.replace_status("network", &PostParams::default(), &operator).await?;

    let directory = tempfile::tempdir()?;
    gather(&cluster, &directory.path().join("image")).await?;
    let from_file = format!("--from-file={}", directory.path().display());
    for arguments in [
        &[][..],
        &["--include-not-recommended"],
        &["recommend"],
        &["recommend", "--version=5.2.0"],
        &["status"],
        &["--status-preflight", "--to=5.1.1"],
        &["compare", "5.1.1", "5.2.0"],
    ] {
        let live = upgrade(cluster.kubeconfig(), arguments);
        let live = live.replace(
            "the cluster has no metrics service",
            "the recorded cluster contains no alert data",
        );
        let recorded = upgrade(Path::new(NO_CLUSTER), &[arguments, &[&from_file]].concat());
        assert_eq!(recorded, live, "{arguments:?}");
    }
    let refused = upgrade(Path::new(NO_CLUSTER), &["--to=5.1.1", &from_file]);
    insta::allow_duplicates! {
        insta::assert_snapshot!(refused, @"
        exit code: 2
        ----- stderr -----
        error: --from-file reads a recorded cluster, which accepts no requests
        ");
    }
    Ok(())
}

/// Writes the files of a must-gather.
async fn gather(cluster: &TestCluster, directory: &Path) -> Result<()> {
    for (file, path) in FILES {
        let request = axum::http::Request::get(path).body(Vec::new())?;
        let text = cluster.client().request_text(request).await?;
        let file = directory.join(file);
        fs::create_dir_all(file.parent().context("no directory")?)?;
        fs::write(file, format!("---\n{text}"))?;
    }
    Ok(())
}
