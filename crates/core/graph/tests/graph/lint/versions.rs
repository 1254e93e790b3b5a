//! Rules about which versions a block concerns.

use fairway_graph::Graph;

use super::{block, checked, files, shown, shown_of, with};
use crate::support::{declare, release};

/// 4.6.22 and 4.6.23 lead to 4.7.4, which leads to 4.7.5.
fn declared() -> Graph {
    declare(vec![
        release("4.6.22", "amd64", &[]),
        release("4.6.23", "amd64", &["4.6.22"]),
        release("4.7.3", "amd64", &["4.6.22"]),
        release("4.7.4", "amd64", &["4.6.22", "4.6.23"]),
        release("4.7.5", "amd64", &["4.7.4"]),
    ])
}

fn shown_with_releases(texts: &[(&str, &str)]) -> String {
    checked(&files(texts), Some(&declared())).1
}

#[test]
fn unknown_target() {
    insta::assert_snapshot!(shown(&[("blocked-edges/a.yaml", &block("4.7.6", "Risk"))]), @"
    warning[unknown-target]: 4.7.6 is in no channel
     --> blocked-edges/a.yaml:1:5
      |
    1 | to: 4.7.6
      |     ^^^^^

    1 warning
    ");
    insta::assert_snapshot!(shown_with_releases(&[("blocked-edges/a.yaml", &block("4.7.4+s390x", "Risk"))]), @"
    warning[unknown-target]: release 4.7.4+s390x does not exist
     --> blocked-edges/a.yaml:1:5
      |
    1 | to: 4.7.4+s390x
      |     ^^^^^^^^^^^

    1 warning
    ");
}

#[test]
fn idle_pattern() {
    insta::assert_snapshot!(shown_of(&with("from", "4[.]5[.].*")), @"
    warning[idle-pattern]: no version older than 4.7.4 matches
     --> blocked-edges/4.7.4-Risk.yaml:1:7
      |
    1 | from: 4[.]5[.].*
      |       ^^^^^^^^^^

    1 warning
    ");
    insta::assert_snapshot!(shown_of(&with("from", "^4[.]6[.]22$")), @"
    warning[idle-pattern]: no version older than 4.7.4 matches
     --> blocked-edges/4.7.4-Risk.yaml:1:7
      |
    1 | from: ^4[.]6[.]22$
      |       ^^^^^^^^^^^^
      |
      = help: versions include their architecture, such as 5.1.0+amd64: end the pattern with [+].*$

    1 warning
    ");
    let from_4_7_3 = with("from", "4[.]7[.]3[+].*");
    insta::assert_snapshot!(shown_with_releases(&[("blocked-edges/a.yaml", &from_4_7_3)]), @"
    note[idle-pattern]: no version with an update to 4.7.4 matches
     --> blocked-edges/a.yaml:1:7
      |
    1 | from: 4[.]7[.]3[+].*
      |       ^^^^^^^^^^^^^^

    1 note
    ");
    assert_eq!(shown_of(&from_4_7_3), "no findings\n");
    assert_eq!(shown_of(&with("from", "^4[.]6[.]22[+].*$")), "no findings\n");
}

#[test]
fn loose_pattern() {
    let versions = "name: fast-4.15\nversions: [4.14.7, 4.14.8, 4.14.18, 4.15.0]\n";
    let shown_from = |from: &str| {
        let block = with("from", from).replace("to: 4.7.4", "to: 4.15.0");
        shown(&[("channels/fast-4.15.yaml", versions), ("blocked-edges/a.yaml", &block)])
    };
    insta::assert_snapshot!(shown_from("4[.]8|4[.]14[.]7"), @"
    warning[loose-pattern]: the pattern also matches 4.14.8+amd64
     --> blocked-edges/a.yaml:1:7
      |
    1 | from: 4[.]8|4[.]14[.]7
      |       ^^^^^^^^^^^^^^^^
      |
      = help: start with ^: patterns are not anchored

    1 warning
    ");
    insta::assert_snapshot!(shown_from("4.1.*"), @"
    warning[loose-pattern]: the pattern also matches 4.14.7+amd64
     --> blocked-edges/a.yaml:1:7
      |
    1 | from: 4.1.*
      |       ^^^^^
      |
      = help: use [.] for a dot: `.*` also matches digits

    1 warning
    ");
    insta::assert_snapshot!(shown_from(r"^4\.1.*"), @r"
    warning[loose-pattern]: the pattern also matches 4.14.7+amd64
     --> blocked-edges/a.yaml:1:7
      |
    1 | from: ^4\.1.*
      |       ^^^^^^^
      |
      = help: use [.] for a dot: `.*` also matches digits

    1 warning
    ");
    assert_eq!(shown_from("4[.]14[.].*"), "no findings\n");
    assert_eq!(shown_from("4.14.*"), "no findings\n");
}

#[test]
fn not_extended() {
    let without_fix = |to: &str| block(to, "Risk").replace("fixedIn: 4.7.9\n", "");
    let (first, second) = (without_fix("4.7.3"), without_fix("4.7.4"));
    let (a, b) = ("blocked-edges/4.7.3-Risk.yaml", "blocked-edges/4.7.4-Risk.yaml");
    insta::assert_snapshot!(shown(&[(a, &first)]), @"
    warning[not-extended]: Risk covers 4.7.3, but not 4.7.4 and 1 more
     --> blocked-edges/4.7.3-Risk.yaml:1:5
      |
    1 | to: 4.7.3
      |     ^^^^^
      |
      = help: add a blocked edge for 4.7.4, or set `fixedIn: 4.7.4`

    1 warning
    ");
    insta::assert_snapshot!(shown(&[(a, &first), (b, &second)]), @"
    warning[not-extended]: Risk covers 4.7.4, but not 4.7.5
     --> blocked-edges/4.7.4-Risk.yaml:1:5
      |
    1 | to: 4.7.4
      |     ^^^^^
      |
      = help: add a blocked edge for 4.7.5, or set `fixedIn: 4.7.5`

    1 warning
    ");
    let last = without_fix("4.7.5");
    insta::assert_snapshot!(shown(&[(a, &first), ("blocked-edges/4.7.5-Risk.yaml", &last)]), @"
    warning[not-extended]: Risk covers 4.7.3, but not 4.7.4
     --> blocked-edges/4.7.3-Risk.yaml:1:5
      |
    1 | to: 4.7.3
      |     ^^^^^
      |
      = help: add a blocked edge for 4.7.4, or set `fixedIn: 4.7.4`

    1 warning
    ");
    assert_eq!(shown(&[(b, &second), ("blocked-edges/4.7.5-Risk.yaml", &last)]), "no findings\n");
    assert_eq!(shown(&[(a, &first), (b, &block("4.7.4", "Risk"))]), "no findings\n");
}

#[test]
fn risks_of_pre_releases_end_with_the_release() {
    let channel = (
        "channels/candidate-4.8.yaml",
        "name: candidate-4.8\nversions: [4.8.0-rc.1, 4.8.0-rc.2, 4.8.0]\n",
    );
    let without_fix = |to: &str| {
        with("from", ".*")
            .replace("to: 4.7.4", &format!("to: {to}"))
            .replace("fixedIn: 4.7.9\n", "")
    };
    let last = without_fix("4.8.0-rc.2");
    assert_eq!(shown(&[channel, ("blocked-edges/a.yaml", &last)]), "no findings\n");
    let first = without_fix("4.8.0-rc.1");
    insta::assert_snapshot!(shown(&[channel, ("blocked-edges/a.yaml", &first)]), @"
    warning[not-extended]: Risk covers 4.8.0-rc.1, but not 4.8.0-rc.2
     --> blocked-edges/a.yaml:2:5
      |
    2 | to: 4.8.0-rc.1
      |     ^^^^^^^^^^
      |
      = help: add a blocked edge for 4.8.0-rc.2, or set `fixedIn: 4.8.0-rc.2`

    1 warning
    ");
}

#[test]
fn stranded() {
    let conditional = ("blocked-edges/a.yaml", &*with("from", "4[.]6[.]23[+].*"));
    insta::assert_snapshot!(shown_with_releases(&[conditional]), @"
    note[stranded]: all updates from this version are conditional: 4.6.23 in stable-4.7
     --> channels/stable-4.7.yaml:2:20
      |
    2 | versions: [4.6.22, 4.6.23, 4.7.3, 4.7.4, 4.7.5]
      |                    ^^^^^^

    1 note
    ");
    let removing = ("blocked-edges/a.yaml", "to: 4.7.5\nfrom: .*\n");
    insta::assert_snapshot!(shown_with_releases(&[removing]), @"
    warning[unexplained]: this removes the update from clusters without an explanation
     --> blocked-edges/a.yaml:1:5
      |
    1 | to: 4.7.5
      |     ^^^^^
      |
      = help: set `url`, `name`, `message` and `matchingRules`

    warning[stranded]: all updates from this version are blocked: 4.7.4 in stable-4.7
     --> channels/stable-4.7.yaml:2:35
      |
    2 | versions: [4.6.22, 4.6.23, 4.7.3, 4.7.4, 4.7.5]
      |                                   ^^^^^

    2 warnings
    ");
    let harmless = ("blocked-edges/a.yaml", &*with("from", "4[.]6[.]22[+].*"));
    assert_eq!(shown_with_releases(&[harmless]), "no findings\n");
}
