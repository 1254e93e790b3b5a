//! `fairway graph lint`

use super::{Desk, GRAPH};

/// Graph-data with a mistake of every severity.
fn with_mistakes() -> Desk {
    let desk = Desk::new();
    let query = super::FILES[3].1.replace("max(gateway_uses_proxy)", "max(gateway_uses_proxy");
    desk.graph_data(
        "broken",
        &[
            ("blocked-edges/5.1.0-LeakyProxy.yaml", &query),
            ("channels/notes.txt", "Ask before you change anything.\n"),
        ],
    );
    desk
}

#[test]
fn lines_and_what_is_wrong_with_them() {
    insta::assert_snapshot!(with_mistakes().run(&["lint", "broken", GRAPH[0]]), @"
    exit code: 3
    ----- stdout -----
    error[promql]: unclosed (
      --> blocked-edges/5.1.0-LeakyProxy.yaml:11:10
       |
    11 |       max(gateway_uses_proxy
       |          ^

    warning[unexplained]: this removes the update from clusters without an explanation
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
fn what_it_fails_on() {
    let desk = with_mistakes();
    let code = |arguments: &[&str]| desk.fairway(arguments).output().unwrap().status.code();
    assert_eq!(code(&["lint", "broken"]), Some(3));
    assert_eq!(code(&["lint", "graph-data"]), Some(0));
    assert_eq!(code(&["lint", "graph-data", "--deny=warnings"]), Some(3));
    assert_eq!(code(&["lint", "graph-data", "--deny=warnings", "--allow=unexplained"]), Some(0));
    desk.write("graph-data/channels/notes.txt", "");
    assert_eq!(code(&["lint", "graph-data", "--deny=warnings", "--allow=unexplained"]), Some(0));
    assert_eq!(code(&["lint", "graph-data", "--deny=notes", "--allow=unexplained"]), Some(3));
}

#[test]
fn only_what_is_new() {
    let desk = with_mistakes();
    insta::assert_snapshot!(desk.run(&["lint", "broken", "--base=graph-data"]), @"
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
    omitted findings of graph-data: 1
    ");
    insta::assert_snapshot!(desk.run(&["lint", "broken", "--base=broken", "--deny=notes"]), @"
    exit code: 0
    ----- stdout -----
    no findings
    ----- stderr -----
    omitted findings of broken: 3
    ");
}

#[test]
fn the_directory_where_one_is() {
    let desk = Desk::new();
    let mut lint = desk.fairway(&["lint", "--allow=unexplained"]);
    let said = crate::transcript(lint.current_dir(desk.path().join("graph-data")));
    assert_eq!(said, "exit code: 0\n----- stdout -----\nno findings\n");
}

#[test]
fn documents_for_machines() {
    let desk = with_mistakes();
    let report = desk.json(&["lint", "broken", "-o", "json"]);
    assert_eq!(report["kind"], "GraphDataLint");
    assert_eq!(report["summary"]["errors"], 1);
    let log = desk.json(&["lint", "broken", "-o", "sarif"]);
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(
        log["runs"][0]["results"].as_array().unwrap().len(),
        report["findings"].as_array().unwrap().len()
    );
}

#[test]
fn colours_where_they_are_wanted() {
    let desk = with_mistakes();
    let coloured = desk.run(&["lint", "broken", "--color=always"]);
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    let plain = desk.run(&["lint", "broken"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
}
