//! Help, version and invalid arguments.

use crate::{fairway, transcript};

#[test]
fn help() {
    insta::assert_snapshot!(transcript(fairway().arg("--help")));
}

#[test]
fn short_help() {
    insta::assert_snapshot!(transcript(fairway().arg("-h")));
}

#[test]
fn help_of_each_command() {
    let commands =
        ["sandbox", "graph", "update-service", "upgrade", "release", "crds", "completion", "man"];
    let helps = commands.map(|command| transcript(fairway().args([command, "--help"])));
    insta::assert_snapshot!(helps.join("\n"));
}

#[test]
fn help_of_each_graph_command() {
    let commands = ["build", "lint", "show", "path", "why", "diff", "channels", "latest"];
    let helps = commands.map(|command| transcript(fairway().args(["graph", command, "-h"])));
    insta::assert_snapshot!(helps.join("\n"));
    insta::assert_snapshot!("lint", transcript(fairway().args(["graph", "lint", "--help"])));
}

#[test]
fn help_of_each_upgrade_command() {
    let steps = ["accept", "channel", "compare", "recommend", "rollback", "status"];
    let helps = steps.map(|step| transcript(fairway().args(["upgrade", step, "--help"])));
    insta::assert_snapshot!(helps.join("\n"));
}

#[test]
fn help_of_each_release_command() {
    let commands = ["new", "info", "lint", "extract", "diff"];
    let helps = commands.map(|command| transcript(fairway().args(["release", command, "-h"])));
    insta::assert_snapshot!(helps.join("\n"));
    insta::assert_snapshot!("new", transcript(fairway().args(["release", "new", "--help"])));
}

#[test]
fn version() {
    assert_eq!(
        transcript(fairway().arg("--version")),
        format!("exit code: 0\n----- stdout -----\nfairway {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn invalid_arguments_are_refused() {
    let mistakes: [&[&str]; 5] = [
        &[],
        &["updgrade"],
        &["crds", "--output=xml"],
        &["crds", "-o", "json", "--dir=d"],
        &["-q", "-v", "crds"],
    ];
    let printed = mistakes.map(|arguments| transcript(fairway().args(arguments)));
    insta::assert_snapshot!(printed.join("\n"));
}

#[test]
fn invalid_log_filter_is_refused() {
    let printed = transcript(fairway().arg("crds").env("FAIRWAY_LOG", "fairway=loud"));
    insta::assert_snapshot!(printed, @r#"
    exit code: 1
    ----- stderr -----
    error: invalid log filter FAIRWAY_LOG="fairway=loud"
      caused by: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5
    hint: set a level such as `info`, or levels by module: `warn,fairway_operator=debug`
    "#);
}

#[test]
fn plugin_help_has_the_name_of_the_plugin() {
    let dir = tempfile::tempdir().unwrap();
    for (file, usage) in
        [("kubectl-fairway", "Usage: kubectl fairway "), ("oc-fairway", "Usage: oc fairway ")]
    {
        let plugin = dir.path().join(file);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fairway"), &plugin).unwrap();
        let help = transcript(std::process::Command::new(&plugin).arg("--help"));
        assert!(help.contains(usage), "{help}");
    }
}
