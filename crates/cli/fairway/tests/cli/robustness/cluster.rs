//! Cluster commands without a cluster, without objects and without permissions.

use std::path::Path;

use anyhow::Result;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_testkit::{TestCluster, objects};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, PostParams};
use serde_json::json;
use tempfile::NamedTempFile;

use super::commands::{READ_COMMANDS, WRITE_COMMANDS};
use super::{CommandResult, table};
use crate::upgrade::create_cluster_version;
use crate::{fairway, kubeconfig};

/// The summaries of commands against a cluster.
fn summaries(kubeconfig: &Path, commands: &[&[&str]]) -> String {
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let server = text.split("server: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    let table = table(commands.iter().map(|arguments| {
        let ended = CommandResult::run_against(kubeconfig, arguments);
        assert!(!ended.stderr.contains("panicked"), "{arguments:?}: {}", ended.stderr);
        assert!(ended.code != 1 || ended.stderr.contains("\nhint: "), "{arguments:?}");
        (arguments.join(" "), ended)
    }));
    table.replace(server, "SERVER")
}

#[test]
fn commands_with_unreachable_api_server_report_connection_error() {
    let closed = kubeconfig("https://127.0.0.1:1");
    for arguments in [READ_COMMANDS, WRITE_COMMANDS].concat() {
        let ended = CommandResult::run(fairway().args(arguments).env("KUBECONFIG", closed.path()));
        assert_eq!(ended.code, 1, "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("127.0.0.1:1"), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("Connection refused"), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("\nhint: "), "{arguments:?}: {}", ended.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_without_cluster_version_report_it_missing() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    insta::assert_snapshot!(summaries(
        cluster.kubeconfig(),
        &[READ_COMMANDS, WRITE_COMMANDS].concat()
    ));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_without_status_report_unknown_version() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api: Api<ClusterVersion> = Api::all(cluster.client());
    api.create(&PostParams::default(), &objects::cluster_version()).await?;
    insta::assert_snapshot!(summaries(
        cluster.kubeconfig(),
        &[READ_COMMANDS, WRITE_COMMANDS].concat()
    ));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_with_incomplete_status_report_unknown_version() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    let api: Api<ClusterVersion> = Api::all(cluster.client());
    let mut object = api.create(&PostParams::default(), &objects::cluster_version()).await?;
    object.status = Some(serde_json::from_value(json!({
        "desired": {"version": "", "image": ""}, "observedGeneration": 0, "versionHash": "",
        "availableUpdates": null,
    }))?);
    api.replace_status(CLUSTER_VERSION_NAME, &PostParams::default(), &object).await?;
    insta::assert_snapshot!(summaries(
        cluster.kubeconfig(),
        &[READ_COMMANDS, WRITE_COMMANDS].concat()
    ));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_without_permissions_report_forbidden() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let bob = without_permissions(&cluster);
    insta::assert_snapshot!(summaries(bob.path(), &[READ_COMMANDS, WRITE_COMMANDS].concat()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_with_read_permission_only_report_missing_permissions() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": "looks-at-versions"},
        "rules": [{
            "apiGroups": ["config.openshift.io"], "resources": ["clusterversions"],
            "verbs": ["get"],
        }],
    }))?;
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "bob-looks-at-versions"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "looks-at-versions",
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}],
    }))?;
    Api::all(cluster.client()).create(&PostParams::default(), &role).await?;
    Api::all(cluster.client()).create(&PostParams::default(), &binding).await?;
    let bob = without_permissions(&cluster);
    insta::assert_snapshot!(summaries(bob.path(), &[READ_COMMANDS, WRITE_COMMANDS].concat()));
    Ok(())
}

/// A kubeconfig of a user without permissions.
fn without_permissions(cluster: &TestCluster) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let text = text.replace("    client-key-data", "    as: bob\n    client-key-data");
    std::fs::write(file.path(), text).unwrap();
    file
}
