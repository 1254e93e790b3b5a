//! Rules about the queries of risks.

use super::{asking, block, shown, shown_of};

#[test]
fn promql() {
    insta::assert_snapshot!(shown_of(&asking("group(up)\nor\n0 * gruop(up)")), @r#"
    error[promql]: unknown function "gruop"
      --> blocked-edges/4.7.4-Risk.yaml:13:11
       |
    13 |       0 * gruop(up)
       |           ^^^^^^^^^

    1 error
    "#);
    insta::assert_snapshot!(shown_of(&asking("group(up) or")), @"
    error[promql]: unexpected end of the query
      --> blocked-edges/4.7.4-Risk.yaml:11:19
       |
    11 |       group(up) or
       |                   ^

    1 error
    ");
    insta::assert_snapshot!(shown_of(&asking("group(up) or (0 * group(up)")), @"
    error[promql]: unclosed (
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
    error[promql]: rate expects a range vector such as x[5m], got an instant vector
     --> blocked-edges/4.7.4-Risk.yaml:8:58
      |
    8 | - {type: PromQL, promql: {promql: "group(up{a=\"b\"}) or rate(up)"}}
      |                                                          ^^^^^^^^

    1 error
    "#);
    let folded = block("4.7.4", "Risk").replace("- type: Always", "- type: PromQL\n  promql:\n    promql: >-\n      group(up)\n      or\n      0 ** group(up)");
    insta::assert_snapshot!(shown_of(&folded), @"
    error[promql]: unexpected `*`
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
    error[promql]: rules of this type require `promql.promql`
     --> blocked-edges/4.7.4-Risk.yaml:8:9
      |
    8 | - type: PromQL
      |         ^^^^^^

    1 error
    ");
    insta::assert_snapshot!(rule("- {type: PromQL, promql: {promql: [a]}}"), @"
    error[promql]: the query must be a string
     --> blocked-edges/4.7.4-Risk.yaml:8:35
      |
    8 | - {type: PromQL, promql: {promql: [a]}}
      |                                   ^

    error[schema]: invalid, all updates to 4.7.4 are blocked for all clusters: field matchingRules[0].promql.promql: expected string scalar
     --> blocked-edges/4.7.4-Risk.yaml:8:35
      |
    8 | - {type: PromQL, promql: {promql: [a]}}
      |                                   ^^^^^

    2 errors
    ");
    insta::assert_snapshot!(rule("- {type: Always, promql: {promql: vector(0) or up}}"), @"
    warning[promql]: rules of this type have no query
     --> blocked-edges/4.7.4-Risk.yaml:8:10
      |
    8 | - {type: Always, promql: {promql: vector(0) or up}}
      |          ^^^^^^

    warning[query-series]: the query may return any number of series
     --> blocked-edges/4.7.4-Risk.yaml:8:35
      |
    8 | - {type: Always, promql: {promql: vector(0) or up}}
      |                                   ^^^^^^^^^^^^^^^
      |
      = help: the operator needs exactly one series: use topk(1, …), which prefers 1 over 0

    2 warnings
    ");
    insta::assert_snapshot!(rule("- type: Platform\n- type: Always"), @"
    note[promql]: unknown type; clusters skip the rule
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
    error[query-result]: the query returns a scalar; expected an instant vector
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       1
       |       ^

    1 error
    ");
    insta::assert_snapshot!(shown_of(&asking("group(up) > 1")), @"
    error[query-result]: the query never returns a sample
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
    warning[query-series]: the query may return any number of series
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       up > bool 3
       |       ^^^^^^^^^^^
       |
       = help: the operator needs exactly one series: use topk(1, …), which prefers 1 over 0

    1 warning
    ");
    insta::assert_snapshot!(shown_of(&asking("group by (job) (up{job=~\"a|b\"}) or 0 * group(up)")), @r#"
    note[query-series]: the query returns one series for each `job`
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group by (job) (up{job=~"a|b"}) or 0 * group(up)
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: the operator needs exactly one series: use topk(1, …), which prefers 1 over 0

    1 note
    "#);
}

#[test]
fn query_values() {
    insta::assert_snapshot!(shown_of(&asking("group(a) or on () -1 * group(b) or 0 * group(c)")), @"
    warning[query-values]: the query can return -1, which the operator treats as a failed evaluation
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group(a) or on () -1 * group(b) or 0 * group(c)
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: return 1 if the risk applies, 0 if it does not

    1 warning
    ");
    insta::assert_snapshot!(shown_of(&asking("0 * group(up)")), @"
    warning[query-values]: the query never returns 1, so the risk never applies
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       0 * group(up)
       |       ^^^^^^^^^^^^^
       |
       = help: return 1 if the risk applies, 0 if it does not

    1 warning
    ");
}

#[test]
fn query_coverage() {
    insta::assert_snapshot!(shown_of(&asking("group(up{job=\"a\"})")), @r#"
    warning[query-coverage]: the query returns no sample on clusters to which the risk does not apply
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group(up{job="a"})
       |       ^^^^^^^^^^^^^^^^^^
       |
       = help: add an alternative that returns 0: … or 0 * group(…)

    1 warning
    "#);
    insta::assert_snapshot!(shown_of(&asking("group(up{job=\"a\"}) or 0 * group(up{job=\"b\"})")), @r#"
    warning[query-coverage]: only clusters with certain samples of up{job="a"}, or up{job="b"} get a result
      --> blocked-edges/4.7.4-Risk.yaml:11:7
       |
    11 |       group(up{job="a"}) or 0 * group(up{job="b"})
       |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: add an alternative that returns 0: … or 0 * group(…)

    1 warning
    "#);
}

#[test]
fn literal_pattern() {
    insta::assert_snapshot!(shown_of(&asking("group(up{job=\"a|b\"})\nor\n0 * group(up)")), @r#"
    warning[literal-pattern]: `job="a|b"` looks like a pattern, but = and != compare literal text
      --> blocked-edges/4.7.4-Risk.yaml:11:16
       |
    11 |       group(up{job="a|b"})
       |                ^^^^^^^^^
       |
       = help: use =~ or !~ to match a pattern

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
    warning[query-coverage]: the query returns no sample on clusters to which the risk does not apply
      --> blocked-edges/4.7.4-0.yaml:11:7
       |
    11 |       group(up{job="a"})
       |       ^^^^^^^^^^^^^^^^^^
       |
       = note: also in blocked-edges/4.7.4-1.yaml, blocked-edges/4.7.4-2.yaml, blocked-edges/4.7.4-3.yaml and 1 more
       = help: add an alternative that returns 0: … or 0 * group(…)

    1 warning
    "#);
}
