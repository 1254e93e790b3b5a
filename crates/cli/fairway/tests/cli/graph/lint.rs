//! `fairway graph lint`.

use super::{GRAPH, GraphFiles};

/// Graph-data with a finding of every severity.
fn with_findings() -> GraphFiles {
    let files = GraphFiles::new();
    let query = super::FILES[3].1.replace("max(gateway_uses_proxy)", "max(gateway_uses_proxy");
    files.graph_data(
        "broken",
        &[
            ("blocked-edges/5.1.0-LeakyProxy.yaml", &query),
            ("channels/notes.txt", "Ask before you change anything.\n"),
        ],
    );
    files
}

#[test]
fn lint_prints_findings_with_their_lines() {
    insta::assert_snapshot!(with_findings().run(&["lint", "broken", GRAPH[0]]), @"
    exit code: 3
    ----- stdout -----
    error[promql]: unclosed (
      --> blocked-edges/5.1.0-LeakyProxy.yaml:11:10
       |
    11 |       max(gateway_uses_proxy
       |          ^

    warning[unexplained]: this removes the update without an explanation
     --> blocked-edges/5.1.1.yaml:1:5
      |
    1 | to: 5.1.1
      |     ^^^^^
      |
      = help: set `url`, `name`, `message` and `matchingRules`

    note[stranded]: all updates from this version are conditional: 5.0.2 in fast-5.1, stable-5.1
     --> channels/fast-5.1.yaml:2:19
      |
    2 | versions: [5.0.1, 5.0.2, 5.1.0, 5.1.1, 5.1.2]
      |                   ^^^^^

    note[schema]: skipped: not a .yaml file
    --> channels/notes.txt

    1 error, 1 warning, 2 notes
      1 promql
      1 schema
      1 stranded
      1 unexplained
    ");
}

#[test]
fn lint_fails_on_the_selected_severity() {
    let files = with_findings();
    let code = |arguments: &[&str]| files.fairway(arguments).output().unwrap().status.code();
    assert_eq!(code(&["lint", "broken"]), Some(3));
    assert_eq!(code(&["lint", "graph-data"]), Some(0));
    assert_eq!(code(&["lint", "graph-data", "--deny=warnings"]), Some(3));
    assert_eq!(code(&["lint", "graph-data", "--deny=warnings", "--allow=unexplained"]), Some(0));
    files.write("graph-data/channels/notes.txt", "");
    assert_eq!(code(&["lint", "graph-data", "--deny=warnings", "--allow=unexplained"]), Some(0));
    assert_eq!(code(&["lint", "graph-data", "--deny=notes", "--allow=unexplained"]), Some(3));
}

#[test]
fn lint_with_baseline_prints_new_findings() {
    let files = with_findings();
    insta::assert_snapshot!(files.run(&["lint", "broken", "--base=graph-data"]), @"
    exit code: 3
    ----- stdout -----
    error[promql]: unclosed (
      --> blocked-edges/5.1.0-LeakyProxy.yaml:11:10
       |
    11 |       max(gateway_uses_proxy
       |          ^

    note[schema]: skipped: not a .yaml file
    --> channels/notes.txt

    1 error, 1 note
      1 promql
      1 schema
    ----- stderr -----
    omitted findings that are already in graph-data: 1
    ");
    insta::assert_snapshot!(files.run(&["lint", "broken", "--base=broken", "--deny=notes"]), @"
    exit code: 0
    ----- stdout -----
    no findings
    ----- stderr -----
    omitted findings that are already in broken: 3
    ");
}

#[test]
fn lint_without_argument_reads_the_current_directory() {
    let files = GraphFiles::new();
    let mut lint = files.fairway(&["lint", "--allow=unexplained"]);
    let printed = crate::transcript(lint.current_dir(files.path().join("graph-data")));
    assert_eq!(printed, "exit code: 0\n----- stdout -----\nno findings\n");
}

#[test]
fn lint_prints_json_and_sarif() {
    let files = with_findings();
    let report = files.json(&["lint", "broken", "-o", "json"]);
    assert_eq!(report["kind"], "GraphDataLint");
    assert_eq!(report["summary"]["errors"], 1);
    let log = files.json(&["lint", "broken", "-o", "sarif"]);
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(
        log["runs"][0]["results"].as_array().unwrap().len(),
        report["findings"].as_array().unwrap().len()
    );
}

#[test]
fn lint_with_color_prints_colours() {
    let files = with_findings();
    let coloured = files.run(&["lint", "broken", "--color=always"]);
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    let plain = files.run(&["lint", "broken"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
}
