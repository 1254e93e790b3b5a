//! Every command there is, and mistakes in what is typed.

use super::Ended;
use crate::fairway;

/// Updates are known from there, and no update service is asked.
const GRAPH: &str =
    concat!("--graph=", env!("CARGO_MANIFEST_DIR"), "/tests/cli/robustness/graph.json");

/// What is asked of a cluster, and changes nothing.
pub(super) const QUESTIONS: &[&[&str]] = &[
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

/// What is asked for in a cluster.
pub(super) const REQUESTS: &[&[&str]] = &[
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

/// Those that begin with a release image, run where others start them, or have a cluster that cannot
/// be asked as one of many: their own tests have them without a cluster.
const ELSEWHERE: [&[&str]; 6] = [
    &["install"],
    &["operator"],
    &["olm-guard"],
    &["preflight"],
    &["fleet", "report"],
    &["fleet", "preflight"],
];

/// The reference of the command line, which is made from the program.
const REFERENCE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/command-line.md"));

/// Every command, with its part of the reference.
pub(super) fn every() -> Vec<(Vec<&'static str>, &'static str)> {
    let parts = REFERENCE.split("\n## `fairway").skip(1);
    parts
        .map(|part| {
            let (command, about) = part.split_once('`').expect("a command ends with a backtick");
            (command.split_whitespace().collect(), about)
        })
        .collect()
}

#[test]
fn every_command_about_a_cluster_is_tried_without_one() {
    let tried: Vec<&[&str]> = [QUESTIONS, REQUESTS, &ELSEWHERE].concat();
    for (command, about) in every() {
        let is_tried = tried.iter().any(|arguments| arguments.starts_with(&command));
        assert!(is_tried || !about.contains("`--kubeconfig="), "{command:?} is not tried");
    }
}

#[test]
fn no_command_takes_what_it_does_not_know() {
    for (command, _) in every() {
        let ended = Ended::of(fairway().args(&command).arg("--nonsense"));
        assert_eq!(ended.code, 2, "{command:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{command:?}");
        assert!(ended.stderr.starts_with("error: unexpected argument '--nonsense'"), "{command:?}");
        assert!(ended.stderr.contains("--help"), "{command:?}: {}", ended.stderr);
    }
}
