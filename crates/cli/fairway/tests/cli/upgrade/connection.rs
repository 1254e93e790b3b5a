//! Connection errors and their hints.

use std::net::TcpListener;
use std::path::Path;

use anyhow::Result;
use fairway_testkit::TestCluster;
use tempfile::NamedTempFile;

use super::{create_cluster_version, upgrade};
use crate::{fairway, kubeconfig, refusals, transcript};

/// A changed copy of a kubeconfig.
fn changed(kubeconfig: &Path, change: impl Fn(&str) -> String) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), change(&std::fs::read_to_string(kubeconfig).unwrap())).unwrap();
    file
}

/// Replaces the line with a key.
fn replace_line(text: &str, key: &str, new: &str) -> String {
    let lines = text.lines().map(|line| if line.contains(key) { new } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn missing_kubeconfig_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], kubeconfig: &str| {
        let mut command = fairway();
        command.args(["upgrade"]).args(arguments);
        command.env("KUBECONFIG", directory.path().join(kubeconfig));
        for variable in ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
            command.env_remove(variable);
        }
        transcript(&mut command).replace(directory.path().to_str().unwrap(), "DIR")
    };
    std::fs::write(directory.path().join("broken"), "clusters: [").unwrap();
    let missing = directory.path().join("missing");
    let empty = kubeconfig("https://127.0.0.1:1");
    std::fs::copy(empty.path(), directory.path().join("good")).unwrap();
    let printed = [
        run(&[], "missing"),
        run(&["--kubeconfig", missing.to_str().unwrap()], "good"),
        run(&["--context=production"], "good"),
        run(&[], "broken").lines().take(3).collect::<Vec<_>>().join("\n"),
    ];
    insta::assert_snapshot!(refusals(printed), @r#"
    1: error: cannot load the cluster configuration
      caused by: cannot read DIR/missing: No such file or directory (os error 2)
    hint: set --kubeconfig or KUBECONFIG, and --context to one of its contexts; run `kubectl config get-contexts` to list them
    1: error: cannot load the cluster configuration
      caused by: cannot read DIR/missing: No such file or directory (os error 2)
    hint: set --kubeconfig or KUBECONFIG, and --context to one of its contexts; run `kubectl config get-contexts` to list them
    1: error: cannot load the cluster configuration
      caused by: the kubeconfig has no context "production"
    hint: set --kubeconfig or KUBECONFIG, and --context to one of its contexts; run `kubectl config get-contexts` to list them
    1: error: cannot load the cluster configuration
    "#);
}

#[test]
fn unreachable_server_is_reported() {
    let closed = kubeconfig("https://127.0.0.1:1");
    let printed = transcript(fairway().arg("upgrade").env("KUBECONFIG", closed.path()));
    insta::assert_snapshot!(printed, @"
    exit code: 1
    ----- stderr -----
    error: cannot reach the API server at https://127.0.0.1:1
      caused by: Connection refused (os error 111)
    hint: check that the server is running and reachable: `kubectl cluster-info`
    ");
}

#[test]
fn unresponsive_server_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let silent = kubeconfig(&address);
    let mut command = fairway();
    command.args(["upgrade", "--request-timeout=300ms"]).env("KUBECONFIG", silent.path());
    let printed = transcript(&mut command).replace(&address, "ADDRESS");
    insta::assert_snapshot!(printed, @"
    exit code: 1
    ----- stderr -----
    error: request to ADDRESS timed out after 300ms
    hint: check that the server is reachable, or increase --request-timeout
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_server_and_rejected_client_are_reported() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let text = std::fs::read_to_string(cluster.kubeconfig())?;
    let address = text.split("server: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    let untrusted =
        changed(cluster.kubeconfig(), |text| replace_line(text, "certificate-authority-data", ""));
    let unknown = changed(cluster.kubeconfig(), |text| {
        let text = replace_line(text, "client-certificate-data", "    token: expired");
        replace_line(&text, "client-key-data", "")
    });
    let powerless = changed(cluster.kubeconfig(), |text| {
        text.replace("    client-key-data", "    as: bob\n    client-key-data")
    });
    let printed = [
        upgrade(untrusted.path(), &[]),
        upgrade(unknown.path(), &[]),
        upgrade(powerless.path(), &[]),
    ];
    insta::assert_snapshot!(refusals(printed).replace(address, "ADDRESS"), @r#"
    1: error: cannot reach the API server at ADDRESS
      caused by: invalid peer certificate: UnknownIssuer
    hint: check that the server is running and reachable: `kubectl cluster-info`
    1: error: authentication failed (401) at the API server ADDRESS
      caused by: Unauthorized
    hint: log in again: the credentials in the kubeconfig may have expired
    1: error: not allowed to get clusterversions.config.openshift.io (403)
      caused by: clusterversions.config.openshift.io "version" is forbidden: User "bob" cannot get resource "clusterversions" in API group "config.openshift.io" at the cluster scope
    hint: run `kubectl auth can-i get clusterversions.config.openshift.io` to check; ask an administrator for a role that allows it
    "#);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn impersonation_is_supported() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let upgrade = |arguments: &[&str]| upgrade(cluster.kubeconfig(), arguments);
    let member = upgrade(&["--as=bob", "--as-group=system:masters", "--as-group=others"]);
    assert!(member.starts_with("exit code: 0"), "{member}");
    let powerless = upgrade(&["channel", "--as=bob"]);
    assert!(powerless.contains("User \"bob\" cannot get"), "{powerless}");
    let wrong = [upgrade(&["--as-group=others"]), upgrade(&["--as="])];
    insta::assert_snapshot!(refusals(wrong), @"
    2: error: the following required arguments were not provided:
      --as <USER>

    Usage: fairway upgrade --as <USER> --as-group <GROUP>
    2: error: invalid value '' for '--as <USER>': name is empty
    ");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_without_the_update_api_is_reported() -> Result<()> {
    let cluster = TestCluster::start().await?;
    insta::assert_snapshot!(upgrade(cluster.kubeconfig(), &[]), @"
    exit code: 4
    ----- stderr -----
    error: this cluster has no ClusterVersion API
    hint: check --context; to install the API, run `fairway crds | kubectl apply -f -`
    ");
    Ok(())
}
