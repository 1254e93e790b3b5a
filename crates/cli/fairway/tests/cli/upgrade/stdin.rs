//! Input from standard input.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::status;
use crate::{fairway, transcript};

/// The transcript of `fairway upgrade` with a file as standard input.
fn upgrade(input: &Path, arguments: &[&str]) -> String {
    let mut command = fairway();
    command.arg("upgrade").args(arguments).stdin(File::open(input).expect("the file is there"));
    transcript(&mut command)
}

#[test]
fn recording_and_accepted_risks_are_read_from_standard_input() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let [cluster, accepted] =
        ["state.yaml", "accepted.yaml"].map(|name| directory.path().join(name));
    let object = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "spec": {"clusterID": "11111111-2222-4333-8444-555555555555", "channel": "stable-5.1"},
        "status": status(),
    });
    fs::write(&cluster, object.to_string())?;
    fs::write(&accepted, "{kind: AcceptedRisks, version: 1, risks: [{name: SlowDisks}]}")?;

    let from_file = format!("--from-file={}", cluster.display());
    for arguments in [&["channel"][..], &["recommend"], &["accept", "SlowDisks", "--dry-run"]] {
        let piped = upgrade(&cluster, &[arguments, &["--from-file=-"]].concat());
        assert_eq!(piped, upgrade(&accepted, &[arguments, &[&from_file]].concat()));
        assert!(piped.starts_with("exit code: 0"), "{piped}");
    }
    insta::assert_snapshot!(upgrade(&accepted, &["accept", "--import=-", "--dry-run", &from_file]), @"
    exit code: 0
    ----- stdout -----
    Dry run, nothing changed. Without --dry-run:

    Accepted: SlowDisks

    After the operator has re-evaluated the updates:
      5.2.0 becomes recommended

    Accepted risks: SlowDisks
    ");
    insta::assert_snapshot!(upgrade(&accepted, &["channel", "--from-file=-"]), @"
    exit code: 4
    ----- stderr -----
    error: no ClusterVersion recorded: none in standard input
    hint: record it with `kubectl get clusterversions -o yaml`
    ");
    insta::assert_snapshot!(upgrade(&cluster, &["accept", "--import=-", "--dry-run", &from_file]), @"
    exit code: 1
    ----- stderr -----
    error: standard input is not a valid AcceptedRisks document
      caused by: expected kind: AcceptedRisks
    hint: run `fairway upgrade accept --export` to create such a file
    ");
    for twice in [
        &["channel", "--from-file=-", "--from-file=-"][..],
        &["accept", "--import=-", "--dry-run", "--from-file=-"],
    ] {
        let refused = upgrade(&cluster, twice);
        assert!(refused.starts_with("exit code: 2"), "{refused}");
    }
    Ok(())
}
