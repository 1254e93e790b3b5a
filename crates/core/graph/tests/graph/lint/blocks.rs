//! Rules about what a block says.

use super::{block, shown, shown_of, with};

#[test]
fn schema() {
    insta::assert_snapshot!(shown_of("from: .*\n"), @"
    error[schema]: no `to`; assuming 4.7.4, from the file name
    --> blocked-edges/4.7.4-Risk.yaml

    1 error
    ");
    insta::assert_snapshot!(shown_of("to: 4.7.4\nfrom: '4[.'\n"), @"
    warning[unexplained]: this removes the update from clusters without an explanation
     --> blocked-edges/4.7.4-Risk.yaml:1:5
      |
    1 | to: 4.7.4
      |     ^^^^^
      |
      = help: set `url`, `name`, `message` and `matchingRules`

    error[schema]: invalid `from`, all updates to this version are blocked: unclosed character class
     --> blocked-edges/4.7.4-Risk.yaml:2:7
      |
    2 | from: '4[.'
      |       ^^^^^

    1 error, 1 warning
    ");
    insta::assert_snapshot!(shown_of("to: 4.7.4\nfrom: .*\nurl: https://example.com\n"), @"
    error[schema]: no `name`, `message` and `matchingRules`, the update is blocked for all clusters
    --> blocked-edges/4.7.4-Risk.yaml

    1 error
    ");
    insta::assert_snapshot!(shown_of("to: [4.7.4\n"), @"
    error[schema]: invalid, all updates to 4.7.4 are blocked for all clusters: field to: expected string scalar
     --> blocked-edges/4.7.4-Risk.yaml:1:5
      |
    1 | to: [4.7.4
      |     ^^^^^^

    1 error
    ");
    insta::assert_snapshot!(shown(&[("version", "2.0.0\n")]), @"
    error[schema]: unsupported schema version 2.0.0 in version; the supported version is 1
    --> version

    1 error
    ");
    insta::assert_snapshot!(shown(&[("raw/metadata.json", "[]")]), @"
    error[schema]: expected mapping start
    --> raw/metadata.json

    1 error
    ");
    insta::assert_snapshot!(shown(&[("blocked-edges/4.7.4.yml", &block("4.7.4", "Risk")), ("blocked-edges/4.7.4.txt", "")]), @"
    note[schema]: skipped: not a .yaml file
    --> blocked-edges/4.7.4.txt

    warning[schema]: other tools skip .yml files; rename it to .yaml
    --> blocked-edges/4.7.4.yml

    1 warning, 1 note
    ");
}

#[test]
fn unknown_key() {
    insta::assert_snapshot!(shown_of(&with("fixedin", "4.7.5")), @"
    warning[unknown-key]: unknown key `fixedin`
     --> blocked-edges/4.7.4-Risk.yaml:1:1
      |
    1 | fixedin: 4.7.5
      | ^^^^^^^
      |
      = help: did you mean `fixedIn`?

    1 warning
    ");
    insta::assert_snapshot!(shown_of(&with("reason", "none")), @"
    warning[unknown-key]: unknown key `reason`
     --> blocked-edges/4.7.4-Risk.yaml:1:1
      |
    1 | reason: none
      | ^^^^^^

    1 warning
    ");
    let misspelt =
        with("matchingRules", "[{type: PromQL, promql: {promql: vector(0) or up, query: x}}]");
    insta::assert_snapshot!(shown_of(&misspelt.replace("- type: Always\n", "")), @"
    warning[query-series]: the query may return any number of series
     --> blocked-edges/4.7.4-Risk.yaml:1:49
      |
    1 | matchingRules: [{type: PromQL, promql: {promql: vector(0) or up, query: x}}]
      |                                                 ^^^^^^^^^^^^^^^
      |
      = help: the operator needs exactly one series: use topk(1, …), which prefers 1 over 0

    warning[unknown-key]: unknown key `query`
     --> blocked-edges/4.7.4-Risk.yaml:1:66
      |
    1 | matchingRules: [{type: PromQL, promql: {promql: vector(0) or up, query: x}}]
      |                                                                  ^^^^^

    2 warnings
    ");
    let other_type =
        with("matchingRules", "[{type: Platform, platform: {type: AWS}}, {type: Always}]");
    insta::assert_snapshot!(shown_of(&other_type.replace("- type: Always\n", "")), @"
    note[promql]: unknown type; clusters skip the rule
     --> blocked-edges/4.7.4-Risk.yaml:1:24
      |
    1 | matchingRules: [{type: Platform, platform: {type: AWS}}, {type: Always}]
      |                        ^^^^^^^^

    1 note
    ");
}

#[test]
fn number() {
    insta::assert_snapshot!(shown_of(&with("fixedIn", "4.10")), @"
    error[number]: 4.10 without quotes is a number and is read as 4.1
     --> blocked-edges/4.7.4-Risk.yaml:1:10
      |
    1 | fixedIn: 4.10
      |          ^^^^
      |
      = help: write '4.10'

    1 error
    ");
    insta::assert_snapshot!(shown_of(&with("fixedIn", "4.9")), @"
    warning[number]: 4.9 without quotes is a number, not a string
     --> blocked-edges/4.7.4-Risk.yaml:1:10
      |
    1 | fixedIn: 4.9
      |          ^^^
      |
      = help: write '4.9'

    1 warning
    ");
    insta::assert_snapshot!(shown(&[("channels/a.yaml", "name: fast-4.7\nversions:\n- 4.20\n- '4.7.4'\n")]), @r#"
    error[number]: 4.20 without quotes is a number and is read as 4.2
     --> channels/a.yaml:3:3
      |
    3 | - 4.20
      |   ^^^^
      |
      = help: write '4.20'

    error[schema]: "4.20" is not a version; skipped
     --> channels/a.yaml:3:3
      |
    3 | - 4.20
      |   ^^^^

    2 errors
    "#);
    assert_eq!(shown_of(&with("fixedIn", "'4.10'")), "no findings\n");
}

#[test]
fn unexplained() {
    insta::assert_snapshot!(shown_of("to: 4.7.4\nfrom: .*\n"), @"
    warning[unexplained]: this removes the update from clusters without an explanation
     --> blocked-edges/4.7.4-Risk.yaml:1:5
      |
    1 | to: 4.7.4
      |     ^^^^^
      |
      = help: set `url`, `name`, `message` and `matchingRules`

    1 warning
    ");
}

#[test]
fn url() {
    insta::assert_snapshot!(shown_of(&with("url", "example.com/Risk")), @"
    error[url]: not an absolute http or https URL
     --> blocked-edges/4.7.4-Risk.yaml:1:6
      |
    1 | url: example.com/Risk
      |      ^^^^^^^^^^^^^^^^

    1 error
    ");
    insta::assert_snapshot!(shown_of(&with("url", "ftp://example.com/Risk")), @"
    error[url]: not an absolute http or https URL
     --> blocked-edges/4.7.4-Risk.yaml:1:6
      |
    1 | url: ftp://example.com/Risk
      |      ^^^^^^^^^^^^^^^^^^^^^^

    1 error
    ");
    assert_eq!(shown_of(&with("url", "http://example.com")), "no findings\n");
}

#[test]
fn name() {
    insta::assert_snapshot!(shown_of(&with("name", "snake_case_name")), @"
    warning[name]: snake_case_name is not CamelCase
     --> blocked-edges/4.7.4-Risk.yaml:1:7
      |
    1 | name: snake_case_name
      |       ^^^^^^^^^^^^^^^
      |
      = help: use a name such as AuthOAuthProxyLeakedConnections

    1 warning
    ");
    insta::assert_snapshot!(shown_of(&with("name", "\"Two Words\"")), @r#"
    error[name]: "Two Words" is not CamelCase; the ClusterVersion API rejects it
     --> blocked-edges/4.7.4-Risk.yaml:1:7
      |
    1 | name: "Two Words"
      |       ^^^^^^^^^^^
      |
      = help: use a name such as AuthOAuthProxyLeakedConnections

    1 error
    "#);
    assert_eq!(shown_of(&with("name", "VSphereHW14")), "no findings\n");
}

#[test]
fn ambiguous_name() {
    let other = block("4.7.5", "Risk").replace("go wrong", "go very wrong");
    let third = block("4.7.3", "Risk");
    let shown_with = |other: &str| {
        shown(&[
            ("blocked-edges/4.7.3-Risk.yaml", &third),
            ("blocked-edges/4.7.4-Risk.yaml", &block("4.7.4", "Risk")),
            ("blocked-edges/4.7.5-Risk.yaml", other),
        ])
    };
    insta::assert_snapshot!(shown_with(&other), @"
    error[ambiguous-name]: Risk has a different `message` in blocked-edges/4.7.3-Risk.yaml
     --> blocked-edges/4.7.5-Risk.yaml:5:1
      |
    5 | message: Something may go very wrong.
      | ^^^^^^^
      |
      = help: rename one of the risks, or use the same content in both files

    1 error
    ");
    let other = block("4.7.5", "Risk").replace("example.com/", "example.org/");
    insta::assert_snapshot!(shown_with(&other), @"
    error[ambiguous-name]: Risk has a different `url` in blocked-edges/4.7.3-Risk.yaml
     --> blocked-edges/4.7.5-Risk.yaml:3:1
      |
    3 | url: https://example.org/Risk
      | ^^^
      |
      = help: rename one of the risks, or use the same content in both files

    1 error
    ");
    let other = block("4.7.5", "Risk").replace("type: Always", "type: Other");
    insta::assert_snapshot!(shown_with(&other), @"
    error[ambiguous-name]: Risk has a different `matchingRules` in blocked-edges/4.7.3-Risk.yaml
     --> blocked-edges/4.7.5-Risk.yaml:7:1
      |
    7 | matchingRules:
      | ^^^^^^^^^^^^^
      |
      = help: rename one of the risks, or use the same content in both files

    note[promql]: unknown type; clusters skip the rule
     --> blocked-edges/4.7.5-Risk.yaml:8:9
      |
    8 | - type: Other
      |         ^^^^^

    1 error, 1 note
    ");
    assert_eq!(shown_with(&block("4.7.5", "Risk")), "no findings\n");
}
