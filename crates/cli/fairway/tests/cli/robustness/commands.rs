//! All commands, and invalid options.

use super::CommandResult;
use crate::fairway;

/// The source of updates, so that commands do not query an update service.
const GRAPH: &str =
    concat!("--graph=", env!("CARGO_MANIFEST_DIR"), "/tests/cli/robustness/graph.json");

/// Commands that read from a cluster.
pub(super) const READ_COMMANDS: &[&[&str]] = &[
    &["upgrade"],
    &["upgrade", "--include-not-recommended"],
    &["upgrade", "--status-preflight"],
    &["upgrade", "channel"],
    &["upgrade", "compare", "5.1.1", "5.2.0"],
    &["upgrade", "explain", "SlowDisks"],
    &["upgrade", "explain", "5.2.0"],
    &["upgrade", "plan", "--to=5.2.0", GRAPH],
    &["upgrade", "recommend"],
    &["upgrade", "recommend", "--version=5.2.0"],
    &["upgrade", "status"],
    &["olm", "list"],
];

/// Commands that change a cluster.
pub(super) const WRITE_COMMANDS: &[&[&str]] = &[
    &["upgrade", "--to=5.1.1", "--no-wait"],
    &["upgrade", "--to-latest", "--no-wait"],
    &["upgrade", "--to-multi-arch", "--no-wait"],
    &["upgrade", "--mode=preflight", "--to=5.1.1"],
    &["upgrade", "--clear-preflight"],
    &["upgrade", "--clear"],
    &["upgrade", "accept", "SlowDisks"],
    &["upgrade", "channel", "candidate-5.1"],
    &["upgrade", "rollback", "--dry-run"],
];

/// Commands that other tests run without a cluster: they start with a release image, run as a service,
/// or query several clusters.
const TESTED_SEPARATELY: [&[&str]; 6] = [
    &["install"],
    &["operator"],
    &["olm-guard"],
    &["preflight"],
    &["fleet", "report"],
    &["fleet", "preflight"],
];

/// The generated command-line reference.
const REFERENCE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/command-line.md"));

/// Every command, with its part of the reference.
pub(crate) fn every() -> Vec<(Vec<&'static str>, &'static str)> {
    let parts = REFERENCE.split("\n## `fairway").skip(1);
    parts
        .map(|part| {
            let (command, about) = part.split_once('`').expect("a command ends with a backtick");
            (command.split_whitespace().collect(), about)
        })
        .collect()
}

#[test]
fn all_cluster_commands_are_tested_without_a_cluster() {
    let tried: Vec<&[&str]> = [READ_COMMANDS, WRITE_COMMANDS, &TESTED_SEPARATELY].concat();
    for (command, about) in every() {
        let is_tried = tried.iter().any(|arguments| arguments.starts_with(&command));
        assert!(is_tried || !about.contains("`--kubeconfig="), "{command:?} is not tried");
    }
}

#[test]
fn unknown_options_are_refused_by_all_commands() {
    for (command, _) in every() {
        let ended = CommandResult::run(fairway().args(&command).arg("--nonsense"));
        assert_eq!(ended.code, 2, "{command:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{command:?}");
        assert!(ended.stderr.starts_with("error: unexpected argument '--nonsense'"), "{command:?}");
        assert!(ended.stderr.contains("--help"), "{command:?}: {}", ended.stderr);
    }
}
