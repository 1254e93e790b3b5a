//! Rules about the queries of risks.

use super::{asking, block, shown, shown_of};

#[test]
fn promql() {
    insta::assert_snapshot!(shown_of(&asking("group(up)\nor\n0 * gruop(up)")), @r#"
    error[promql]: there is no function "gruop"
      --> blocked-edges/4.7.4-Risk.yaml:13:11
       |
    13 |       0 * gruop(up)
       |           ^^^^^^^^^

    1 error
    "#);
    insta::assert_snapshot!(shown_of(&asking("group(up) or")), @"
    error[promql]: the query ends where something has to follow
      --> blocked-edges/4.7.4-Risk.yaml:11:19
       |
    11 |       group(up) or
       |                   ^

    1 error
    ");
    insta::assert_snapshot!(shown_of(&asking("group(up) or (0 * group(up)")), @"
    error[promql]: this ( is never closed
      --> blocked-edges/4.7.4-Risk.yaml:11:20
       |
    11 |       group(up) or (0 * group(up)
       |                    ^

    1 error
    ");
    let quoted = block("4.7.4", "Risk").replace(
        "- type: Always",
        r#"- {type: PromQL, promql: {promql: "group(up{a=\"b\"}) or rate(up)"}}"#,
    );
    insta::assert_snapshot!(shown_of(&quoted), @r#"
    error[promql]: rate takes a range such as x[5m], and this is a vector
     --> blocked-edges/4.7.4-Risk.yaml:8:58
      |
    8 | - {type: PromQL, promql: {promql: "group(up{a=\"b\"}) or rate(up)"}}
      |                                                          ^^^^^^^^

    1 error
    "#);
    let folded = block("4.7.4", "Risk").replace("- type: Always", "- type: PromQL\n  promql:\n    promql: >-\n      group(up)\n      or\n      0 ** group(up)");
    insta::assert_snapshot!(shown_of(&folded), @"
    error[promql]: `*` cannot stand here
      --> blocked-edges/4.7.4-Risk.yaml:13:10
       |
    13 |       0 ** group(up)
       |          ^

    1 error
    ");
}

#[test]
fn rules_without_what_their_type_needs() {
    let rule = |rule: &str| shown_of(&block("4.7.4", "Risk").replace("- type: Always", rule));
    insta::assert_snapshot!(rule("- type: PromQL"), @"
    error[promql]: a rule of this type needs `promql.promql`
     --> blocked-edges/4.7.4-Risk.yaml:8:9
      |
    8 | - type: PromQL
      |         ^^^^^^

    1 error
    ");
    insta::assert_snapshot!(rule("- {type: PromQL, promql: {promql: [a]}}"), @"
    error[promql]: the query has to be a text
     --> blocked-edges/4.7.4-Risk.yaml:8:35
      |
    8 | - {type: PromQL, promql: {promql: [a]}}
      |                                   ^

    error[schema]: unreadable, so updates to 4.7.4 are blocked for every cluster: field matchingRules[0].promql.promql: expected string scalar
     --> blocked-edges/4.7.4-Risk.yaml:8:35
      |
    8 | - {type: PromQL, promql: {promql: [a]}}
      |                                   ^^^^^

    2 errors
    ");
    insta::assert_snapshot!(rule("- {type: Always, promql: {promql: vector(0) or up}}"), @"
    warning[promql]: a rule of this type asks no query
     --> blocked-edges/4.7.4-Risk.yaml:8:10
      |
    8 | - {type: Always, promql: {promql: vector(0) or up}}
      |          ^^^^^^

    warning[query-series]: this yields any number of series
     --> blocked-edges/4.7.4-Risk.yaml:8:35
      |
    8 | - {type: Always, promql: {promql: vector(0) or up}}
      |                                   ^^^^^^^^^^^^^^^
      |
      = help: clusters need exactly one: topk(1, …) keeps one that is 1 rather than 0

    2 warnings
    ");
    insta::assert_snapshot!(rule("- type: Platform\n- type: Always"), @"
    note[promql]: clusters that do not know this type skip the rule
     --> blocked-edges/4.7.4-Risk.yaml:8:9
      |
    8 | - type: Platform
      |         ^^^^^^^^

    1 note
    ");
}

#[test]
fn query_result() {
    insta::assert_snapshot!(shown_of(&asking("1")), @"
    error[query-result]: this yields a number, and clusters need a vector
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       1
       |       ^

    1 error
    ");
    insta::assert_snapshot!(shown_of(&asking("group(up) > 1")), @"
    error[query-result]: this never yields anything
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group(up) > 1
       |       ^^^^^^^^^^^^^

    1 error
    ");
}

#[test]
fn query_series() {
    insta::assert_snapshot!(shown_of(&asking("up > bool 3")), @"
    warning[query-series]: this yields any number of series
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       up > bool 3
       |       ^^^^^^^^^^^
       |
       = help: clusters need exactly one: topk(1, …) keeps one that is 1 rather than 0

    1 warning
    ");
    insta::assert_snapshot!(shown_of(&asking("group by (job) (up{job=~\"a|b\"}) or 0 * group(up)")), @r#"
    note[query-series]: this yields a series for each `job`
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group by (job) (up{job=~"a|b"}) or 0 * group(up)
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: clusters need exactly one: topk(1, …) keeps one that is 1 rather than 0

    1 note
    "#);
}

#[test]
fn query_values() {
    insta::assert_snapshot!(shown_of(&asking("group(a) or on () -1 * group(b) or 0 * group(c)")), @"
    warning[query-values]: this can be -1, which clusters take for a failure
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group(a) or on () -1 * group(b) or 0 * group(c)
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: 1 means that the risk applies, 0 that it does not

    1 warning
    ");
    insta::assert_snapshot!(shown_of(&asking("0 * group(up)")), @"
    warning[query-values]: this is never 1, so the risk never applies
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       0 * group(up)
       |       ^^^^^^^^^^^^^
       |
       = help: 1 means that the risk applies, 0 that it does not

    1 warning
    ");
}

#[test]
fn query_coverage() {
    insta::assert_snapshot!(shown_of(&asking("group(up{job=\"a\"})")), @r#"
    warning[query-coverage]: this yields nothing for clusters to which the risk does not apply
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group(up{job="a"})
       |       ^^^^^^^^^^^^^^^^^^
       |
       = help: add what is 0 for them: … or 0 * group(…)

    1 warning
    "#);
    insta::assert_snapshot!(shown_of(&asking("group(up{job=\"a\"}) or 0 * group(up{job=\"b\"})")), @r#"
    warning[query-coverage]: only clusters with certain samples of up{job="a"}, or up{job="b"} get an answer
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group(up{job="a"}) or 0 * group(up{job="b"})
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: add what is 0 for them: … or 0 * group(…)

    1 warning
    "#);
}

#[test]
fn literal_pattern() {
    insta::assert_snapshot!(shown_of(&asking("group(up{job=\"a|b\"})\nor\n0 * group(up)")), @r#"
    warning[literal-pattern]: `job="a|b"` compares with this very text
      --> blocked-edges/4.7.4-Risk.yaml:11:16
       |
    11 |       group(up{job="a|b"})
       |                ^^^^^^^^^
       |
       = help: write =~ or !~ to compare with a pattern

    1 warning
    "#);
}

#[test]
fn a_query_is_looked_at_once() {
    let question = asking("group(up{job=\"a\"})");
    let others: Vec<(String, String)> =
        (0..5).map(|n| (format!("blocked-edges/4.7.4-{n}.yaml"), question.clone())).collect();
    let texts: Vec<(&str, &str)> = others.iter().map(|(path, text)| (&**path, &**text)).collect();
    insta::assert_snapshot!(shown(&texts), @r#"
    warning[query-coverage]: this yields nothing for clusters to which the risk does not apply
      --> blocked-edges/4.7.4-0.yaml:11:7
       |
    11 |       group(up{job="a"})
       |       ^^^^^^^^^^^^^^^^^^
       |
       = note: the same in blocked-edges/4.7.4-1.yaml, blocked-edges/4.7.4-2.yaml, blocked-edges/4.7.4-3.yaml and 1 more
       = help: add what is 0 for them: … or 0 * group(…)

    1 warning
    "#);
}
