use super::{outcome, suspicious_matchers};
use crate::Query;

fn told(query: &str) -> String {
    outcome(&Query::parse(query).unwrap()).to_string()
}

/// Each query with what is told about it.
fn table(queries: &[&str]) -> String {
    let lines: Vec<String> =
        queries.iter().map(|query| format!("{query}\n  {}", told(query))).collect();
    lines.join("\n")
}

#[test]
fn a_question_without_an_else_is_answered_for_matching_clusters_only() {
    insta::assert_snapshot!(table(&[
        r#"group(up{job="a"})"#,
        r#"up{job="a"} == 1"#,
        r#"absent(up{job="a"})"#,
        r#"group(up) or 0 * group(up{job="a"})"#,
    ]), @r#"
    group(up{job="a"})
      at most one series of value 1; clusters that do not match get no result
    up{job="a"} == 1
      any number of series of value 1; clusters that do not match get no result
    absent(up{job="a"})
      at most one series of value 1; clusters that do not match get no result
    group(up) or 0 * group(up{job="a"})
      at most one series of value 1; clusters that do not match get no result
    "#);
}

#[test]
fn an_else_covers_the_clusters_that_do_not_match() {
    insta::assert_snapshot!(table(&[
        r#"group(up{job="a"}) or 0 * group(up)"#,
        r#"group(up{job="a"}) or vector(0)"#,
        r#"label_replace(group(up{job="a"}), "x", "y", "", "") or on () 0 * group(up)"#,
        r#"group(up{job="a"}) or 0 * group(up{job!="a"})"#,
        r#"group(up{job=~"a|b"}) or 0 * group(up{job!~"a|b"})"#,
        r#"absent(up{job="a"}) or 0 * group(up{job="a"})"#,
        r#"up{job="a"} > bool 3"#,
        r#"group(max_over_time(up{job="a"}[1h]) > 0) or 0 * group(max_over_time(up[1h]))"#,
    ]), @r#"
    group(up{job="a"}) or 0 * group(up)
      at most one series of value 0 or 1; clusters get a result while they have up
    group(up{job="a"}) or vector(0)
      one series of value 0 or 1; all clusters get a result
    label_replace(group(up{job="a"}), "x", "y", "", "") or on () 0 * group(up)
      at most one series of value 0 or 1; clusters get a result while they have up
    group(up{job="a"}) or 0 * group(up{job!="a"})
      at most one series of value 0 or 1; clusters get a result while they have up
    group(up{job=~"a|b"}) or 0 * group(up{job!~"a|b"})
      at most one series of value 0 or 1; clusters get a result while they have up
    absent(up{job="a"}) or 0 * group(up{job="a"})
      a series for each job of value 0 or 1; all clusters get a result
    up{job="a"} > bool 3
      any number of series of value 0 or 1; clusters get a result while they have up{job="a"}
    group(max_over_time(up{job="a"}[1h]) > 0) or 0 * group(max_over_time(up[1h]))
      at most one series of value 0 or 1; clusters get a result while they have up
    "#);
}

#[test]
fn an_else_for_some_clusters_leaves_others_without_an_answer() {
    insta::assert_snapshot!(table(&[
        r#"group(up{job="a"}) or 0 * group(up{job="b"})"#,
        "group(up > 1) or 0 * group(up < 1)",
        "0 * group(up unless on (job) down)",
    ]), @r#"
    group(up{job="a"}) or 0 * group(up{job="b"})
      at most one series of value 0 or 1; only clusters with certain samples of up{job="a"}, or up{job="b"} get a result
    group(up > 1) or 0 * group(up < 1)
      at most one series of value 0 or 1; only clusters with certain samples of up get a result
    0 * group(up unless on (job) down)
      at most one series of value 0; only clusters with certain samples of up get a result
    "#);
}

#[test]
fn the_number_of_series_is_bounded_by_labels() {
    insta::assert_snapshot!(table(&[
        "up",
        "sum(up)",
        "sum by (job) (up)",
        r#"sum by (job) (up{job="a"})"#,
        "sum without (job) (up)",
        "topk(1, up)",
        "topk(3, up)",
        "topk(0, up)",
        "topk by (job) (1, up)",
        r#"group by (job) (up{job="a"}) or 0 * group by (job) (up)"#,
        r#"group by (job) (up{job="a"}) or on () 0 * group(up)"#,
        r#"label_replace(group(a), "x", "1", "", "") or label_replace(0 * group(b), "x", "2", "", "")"#,
        r#"topk(1, label_replace(group(a), "x", "1", "", "") or label_replace(0 * group(b), "x", "2", "", ""))"#,
        "group(a) * group(b)",
        "group by (job) (a) * on (job) group_left group by (job) (b)",
        r#"count_values("version", build_info)"#,
        "vector(1)",
    ]), @r#"
    up
      any number of series of any value; clusters get a result while they have up
    sum(up)
      at most one series of any value; clusters get a result while they have up
    sum by (job) (up)
      a series for each job of any value; clusters get a result while they have up
    sum by (job) (up{job="a"})
      at most one series of any value; clusters get a result while they have up{job="a"}
    sum without (job) (up)
      any number of series of any value; clusters get a result while they have up
    topk(1, up)
      at most one series of any value; clusters get a result while they have up
    topk(3, up)
      any number of series of any value; clusters get a result while they have up
    topk(0, up)
      no series of no value; no cluster gets a result
    topk by (job) (1, up)
      a series for each job of any value; clusters get a result while they have up
    group by (job) (up{job="a"}) or 0 * group by (job) (up)
      a series for each job of value 0 or 1; clusters get a result while they have up
    group by (job) (up{job="a"}) or on () 0 * group(up)
      at most one series of value 0 or 1; clusters get a result while they have up
    label_replace(group(a), "x", "1", "", "") or label_replace(0 * group(b), "x", "2", "", "")
      a series for each x of value 0 or 1; clusters get a result while they have a, or b
    topk(1, label_replace(group(a), "x", "1", "", "") or label_replace(0 * group(b), "x", "2", "", ""))
      at most one series of value 0 or 1; clusters get a result while they have a, or b
    group(a) * group(b)
      at most one series of value 1; clusters that do not match get no result
    group by (job) (a) * on (job) group_left group by (job) (b)
      a series for each job of value 1; clusters that do not match get no result
    count_values("version", build_info)
      a series for each version of any value; clusters get a result while they have build_info
    vector(1)
      one series of value 1; all clusters get a result
    "#);
}

#[test]
fn values_are_calculated_where_they_do_not_depend_on_samples() {
    insta::assert_snapshot!(table(&[
        "1 - group(up)",
        "-1 * group(up)",
        "0 * up",
        "1 * up",
        "max(group(a) or 0 * group(b))",
        "avg(group by (x) (a) or 0 * group by (x) (b))",
        "count(group(up))",
        "count(up)",
        "sgn(2 * group(up))",
        "group(up) > 2",
        "group(up) == 1",
        "(group(a) or 0 * group(b)) * (group(c) or 0 * group(d))",
    ]), @"
    1 - group(up)
      at most one series of value 0; clusters get a result while they have up
    -1 * group(up)
      at most one series of value -1; clusters that do not match get no result
    0 * up
      any number of series of value 0; clusters get a result while they have up
    1 * up
      any number of series of any value; clusters get a result while they have up
    max(group(a) or 0 * group(b))
      at most one series of value 0 or 1; clusters get a result while they have a, or b
    avg(group by (x) (a) or 0 * group by (x) (b))
      at most one series of any value; clusters get a result while they have a, or b
    count(group(up))
      at most one series of value 1; clusters that do not match get no result
    count(up)
      at most one series of any value; clusters get a result while they have up
    sgn(2 * group(up))
      at most one series of value 1; clusters that do not match get no result
    group(up) > 2
      no series of no value; no cluster gets a result
    group(up) == 1
      at most one series of value 1; clusters that do not match get no result
    (group(a) or 0 * group(b)) * (group(c) or 0 * group(d))
      at most one series of value 0 or 1; clusters get a result while they have a and c, or a and d, or b and c, or b and d
    ");
}

#[test]
fn what_never_matches_yields_nothing() {
    insta::assert_snapshot!(table(&[
        r#"group by (job) (up{job="a"}) * group(down)"#,
        r#"group by (job) (up{job="a"}) and group by (job) (up{job="b"})"#,
        r#"group by (job) (up{job="a"}) unless group by (job) (up{job="b"})"#,
    ]), @r#"
    group by (job) (up{job="a"}) * group(down)
      no series of no value; no cluster gets a result
    group by (job) (up{job="a"}) and group by (job) (up{job="b"})
      no series of no value; no cluster gets a result
    group by (job) (up{job="a"}) unless group by (job) (up{job="b"})
      at most one series of value 1; clusters that do not match get no result
    "#);
}

#[test]
fn other_results_are_no_answer() {
    insta::assert_snapshot!(table(&["1", "scalar(up)", "up[5m]", r#""text""#, "max_over_time(up[1h:5m])"]), @r#"
    1
      a scalar, which is not a valid result
    scalar(up)
      a scalar, which is not a valid result
    up[5m]
      a range vector, which is not a valid result
    "text"
      a string, which is not a valid result
    max_over_time(up[1h:5m])
      any number of series of any value; clusters get a result while they have up
    "#);
}

#[test]
fn the_queries_of_the_proposal_are_fine() {
    insta::assert_snapshot!(table(&[
        r#"max(cluster_proxy_enabled{type=~"https?"})"#,
        "cluster_infrastructure_provider{type=~\"VSphere|None\"}\nor\n0 * cluster_infrastructure_provider",
        r#"cluster_infrastructure_provider{type=~"VSphere|None"}"#,
    ]), @r#"
    max(cluster_proxy_enabled{type=~"https?"})
      at most one series of any value; clusters get a result while they have cluster_proxy_enabled{type=~"https?"}
    cluster_infrastructure_provider{type=~"VSphere|None"}
    or
    0 * cluster_infrastructure_provider
      any number of series of any value; clusters get a result while they have cluster_infrastructure_provider
    cluster_infrastructure_provider{type=~"VSphere|None"}
      any number of series of any value; clusters get a result while they have cluster_infrastructure_provider{type=~"VSphere|None"}
    "#);
}

#[test]
fn too_many_cases_are_not_guessed_at() {
    let question = |n: usize| format!("(group(a{n}) or 0 * group(b{n}))");
    let query = (0..7).map(question).collect::<Vec<_>>().join(" * ");
    insta::assert_snapshot!(told(&query), @"an unknown number of series of unknown value; unknown which clusters get a result");
}

#[test]
fn an_equality_with_alternatives_is_suspicious() {
    let query = Query::parse(r#"a{x="b|c",y=~"b|c",z!="a.*",v="1.2"}"#).unwrap();
    let found: Vec<String> = suspicious_matchers(&query).iter().map(ToString::to_string).collect();
    assert_eq!(found, [r#"x="b|c""#, r#"z!="a.*""#]);
}
