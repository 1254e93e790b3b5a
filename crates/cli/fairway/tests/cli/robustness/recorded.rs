//! Incomplete recorded clusters.

use std::fmt::Write;

use super::{CommandResult, table};
use crate::fairway;

const COMMANDS: [&[&str]; 4] = [
    &["upgrade"],
    &["upgrade", "recommend"],
    &["upgrade", "recommend", "--version=5.2.0"],
    &["upgrade", "status"],
];

#[test]
fn incomplete_cluster_version() {
    let directory = tempfile::tempdir().unwrap();
    let head = "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\n\
                metadata: {name: version}\n";
    let mut printed = String::new();
    for (what, rest) in [
        ("without spec and status", ""),
        ("with an empty status", "spec: {}\nstatus: {}\n"),
        (
            "with nothing but null",
            "spec: {clusterID: null, channel: null, desiredUpdate: null, overrides: null}\n\
             status: {desired: null, history: null, conditions: null, availableUpdates: null, \
             conditionalUpdates: null, conditionalUpdateRisks: null, versionHash: null}\n",
        ),
        (
            "with lists of nothing",
            "spec: {channel: stable-5.1}\n\
             status: {desired: {version: 5.1.0}, history: [{}], conditions: [{}, null], \
             availableUpdates: [{}, null], conditionalUpdates: [{}], \
             conditionalUpdateRisks: [{}]}\n",
        ),
        (
            "with versions that are none",
            "spec: {channel: stable-5.1}\n\
             status: {desired: {version: five}, history: [{version: four, state: Gone}], \
             conditions: [{type: RetrievedUpdates, status: Perhaps}], \
             availableUpdates: [{version: six}], conditionalUpdates: [{release: {version: seven}}]}\n",
        ),
    ] {
        std::fs::write(directory.path().join("x-cv.yaml"), format!("{head}{rest}")).unwrap();
        let operators = "apiVersion: config.openshift.io/v1\nkind: ClusterOperatorList\n\
                         items: [{metadata: {name: etcd}}, {metadata: {}, status: {conditions: [{}]}}, null]\n";
        std::fs::write(directory.path().join("x-co.yaml"), operators).unwrap();
        writeln!(printed, "--- {what}").unwrap();
        printed += &table(COMMANDS.iter().map(|arguments| {
            let mut command = fairway();
            command.current_dir(directory.path()).args(*arguments).arg("--from-file=x-cv.yaml");
            let ended = CommandResult::run(&mut command);
            assert!(!ended.stderr.contains("panicked"), "{what}: {arguments:?}: {}", ended.stderr);
            (arguments.join(" "), ended)
        }));
    }
    insta::assert_snapshot!(printed);
}
