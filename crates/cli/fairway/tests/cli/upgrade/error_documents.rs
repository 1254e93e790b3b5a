//! Error documents for scripts.

use std::path::Path;

use anyhow::Result;
use fairway_testkit::TestCluster;
use serde_json::{Value, json};

use super::create_cluster_version;
use crate::{fairway, schema};

/// The exit code and the document of a refused command.
fn refused(kubeconfig: &Path, arguments: &str) -> (i32, Value) {
    let mut command = fairway();
    command.env("KUBECONFIG", kubeconfig).args(arguments.split(' ')).arg("--output=json");
    let output = tokio::task::block_in_place(|| command.output()).expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    schema::check_printed(&command, &text);
    let document = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{arguments}: {text}"));
    assert!(!output.stderr.is_empty(), "{arguments}: no text on standard error");
    (output.status.code().unwrap_or(-1), document)
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_commands_print_a_document() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let directory = tempfile::tempdir()?;
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).map(|()| path.display().to_string())
    };
    let half = file("half.yaml", "{kind: ClusterVersion, metadata: {name: version}}")?;
    let broken = file("broken.yaml", "{kind: ClusterVersion")?;
    let commands = [
        "upgrade --to=5.2.0",
        "upgrade --to=9.9.9",
        "upgrade --dry-run",
        "upgrade rollback",
        "upgrade explain NoSuchRisk",
        "upgrade channel no-such-channel-5.1 --context=missing",
        "olm list",
        &format!("upgrade status --from-file={half}"),
        &format!("upgrade status --from-file={broken}"),
    ];
    let directory = format!("{}/", directory.path().display());
    let mut printed = Vec::new();
    for command in commands {
        let (code, document) = refused(cluster.kubeconfig(), command);
        assert_eq!(document["kind"], "Failure", "{command}");
        assert_eq!(document["exitCode"], json!(code), "{command}");
        let (reason, message) = (&document["reason"], &document["message"]);
        printed.push(format!("{command}: {code} {reason} {message}").replace(&directory, ""));
    }
    insta::assert_snapshot!(printed.join("\n"), @r#"
    upgrade --to=5.2.0: 3 "refused" "5.2.0 is not recommended for this cluster: SlowDisks (applies)"
    upgrade --to=9.9.9: 3 "refused" "9.9.9 is not an available update of this cluster"
    upgrade --dry-run: 2 "usage" "--dry-run needs --to, --to-image, --to-latest, --to-multi-arch, --clear or --clear-preflight"
    upgrade rollback: 3 "refused" "this cluster has no release before 5.1.0 (registry.example/release@sha256:5f89b70ade0bbb70014dddd1f20f605cc6b2a161bfa48b5407f4fba110d58e82)"
    upgrade explain NoSuchRisk: 4 "unknown" "no available update has a risk named \"NoSuchRisk\", and no such risk is accepted"
    upgrade channel no-such-channel-5.1 --context=missing: 1 "error" "cannot load the cluster configuration"
    olm list: 4 "unknown" "OLM is not installed: the cluster does not serve ClusterServiceVersions"
    upgrade status --from-file=half.yaml: 4 "unknown" "no ClusterOperator recorded: none in half.yaml"
    upgrade status --from-file=broken.yaml: 1 "error" "broken.yaml:1:1: unclosed bracket '{'"
    "#);

    let (_, document) = refused(cluster.kubeconfig(), "upgrade --to=5.2.0");
    let risk = json!({
        "name": "SlowDisks",
        "exposure": "exposed",
        "message": "Nodes with slow disks may miss leases.",
        "url": "https://example.com/slow-disks",
        "acceptance": "notAccepted",
    });
    assert_eq!(document["risks"], json!([risk]));
    Ok(())
}
