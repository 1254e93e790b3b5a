use super::{analyze, suspicious_matchers};
use crate::Query;

fn analysis_of(query: &str) -> String {
    analyze(&Query::parse(query).unwrap()).to_string()
}

/// Checks a table of queries, each followed by its indented result.
fn check_analysis(table: &str) {
    let mut query = Vec::new();
    for line in table.lines().skip(1).map(|line| line.strip_prefix("    ").unwrap_or(line)) {
        let Some(expected) = line.strip_prefix("  ") else {
            query.push(line);
            continue;
        };
        assert_eq!(analysis_of(&query.join("\n")), expected);
        query.clear();
    }
}

#[test]
fn query_without_alternative_covers_matching_clusters_only() {
    check_analysis(
        r#"
    group(up{job="a"})
      at most one series of value 1; clusters that do not match get no result
    up{job="a"} == 1
      any number of series of value 1; clusters that do not match get no result
    absent(up{job="a"})
      at most one series of value 1; clusters that do not match get no result
    group(up) or 0 * group(up{job="a"})
      at most one series of value 1; clusters that do not match get no result
    "#,
    );
}

#[test]
fn query_with_alternative_covers_all_clusters() {
    check_analysis(
        r#"
    group(up{job="a"}) or 0 * group(up)
      at most one series of value 0 or 1; clusters get a result if they have up
    group(up{job="a"}) or vector(0)
      one series of value 0 or 1; all clusters get a result
    label_replace(group(up{job="a"}), "x", "y", "", "") or on () 0 * group(up)
      at most one series of value 0 or 1; clusters get a result if they have up
    group(up{job="a"}) or 0 * group(up{job!="a"})
      at most one series of value 0 or 1; clusters get a result if they have up
    group(up{job=~"a|b"}) or 0 * group(up{job!~"a|b"})
      at most one series of value 0 or 1; clusters get a result if they have up
    absent(up{job="a"}) or 0 * group(up{job="a"})
      a series for each job of value 0 or 1; all clusters get a result
    up{job="a"} > bool 3
      any number of series of value 0 or 1; clusters get a result if they have up{job="a"}
    group(max_over_time(up{job="a"}[1h]) > 0) or 0 * group(max_over_time(up[1h]))
      at most one series of value 0 or 1; clusters get a result if they have up
    "#,
    );
}

#[test]
fn query_with_narrow_alternative_is_restricted() {
    check_analysis(
        r#"
    group(up{job="a"}) or 0 * group(up{job="b"})
      at most one series of value 0 or 1; only clusters with certain samples of up{job="a"}, or up{job="b"} get a result
    group(up > 1) or 0 * group(up < 1)
      at most one series of value 0 or 1; only clusters with certain samples of up get a result
    0 * group(up unless on (job) down)
      at most one series of value 0; only clusters with certain samples of up get a result
    "#,
    );
}

#[test]
fn number_of_series_is_bounded_by_labels() {
    check_analysis(
        r#"
    up
      any number of series of any value; clusters get a result if they have up
    sum(up)
      at most one series of any value; clusters get a result if they have up
    sum by (job) (up)
      a series for each job of any value; clusters get a result if they have up
    sum by (job) (up{job="a"})
      at most one series of any value; clusters get a result if they have up{job="a"}
    sum without (job) (up)
      any number of series of any value; clusters get a result if they have up
    topk(1, up)
      at most one series of any value; clusters get a result if they have up
    topk(3, up)
      any number of series of any value; clusters get a result if they have up
    topk(0, up)
      no series of no value; no cluster gets a result
    topk by (job) (1, up)
      a series for each job of any value; clusters get a result if they have up
    group by (job) (up{job="a"}) or 0 * group by (job) (up)
      a series for each job of value 0 or 1; clusters get a result if they have up
    group by (job) (up{job="a"}) or on () 0 * group(up)
      at most one series of value 0 or 1; clusters get a result if they have up
    label_replace(group(a), "x", "1", "", "") or label_replace(0 * group(b), "x", "2", "", "")
      a series for each x of value 0 or 1; clusters get a result if they have a, or b
    topk(1, label_replace(group(a), "x", "1", "", "") or label_replace(0 * group(b), "x", "2", "", ""))
      at most one series of value 0 or 1; clusters get a result if they have a, or b
    group(a) * group(b)
      at most one series of value 1; clusters that do not match get no result
    group by (job) (a) * on (job) group_left group by (job) (b)
      a series for each job of value 1; clusters that do not match get no result
    count_values("version", build_info)
      a series for each version of any value; clusters get a result if they have build_info
    vector(1)
      one series of value 1; all clusters get a result
    "#,
    );
}

#[test]
fn constant_values_are_computed() {
    check_analysis(
        r"
    1 - group(up)
      at most one series of value 0; clusters get a result if they have up
    -1 * group(up)
      at most one series of value -1; clusters that do not match get no result
    0 * up
      any number of series of value 0; clusters get a result if they have up
    1 * up
      any number of series of any value; clusters get a result if they have up
    max(group(a) or 0 * group(b))
      at most one series of value 0 or 1; clusters get a result if they have a, or b
    avg(group by (x) (a) or 0 * group by (x) (b))
      at most one series of any value; clusters get a result if they have a, or b
    count(group(up))
      at most one series of value 1; clusters that do not match get no result
    count(up)
      at most one series of any value; clusters get a result if they have up
    sgn(2 * group(up))
      at most one series of value 1; clusters that do not match get no result
    group(up) > 2
      no series of no value; no cluster gets a result
    group(up) == 1
      at most one series of value 1; clusters that do not match get no result
    (group(a) or 0 * group(b)) * (group(c) or 0 * group(d))
      at most one series of value 0 or 1; clusters get a result if they have a and c, or a and d, or b and c, or b and d
    ",
    );
}

#[test]
fn vectors_that_never_match_return_nothing() {
    check_analysis(
        r#"
    group by (job) (up{job="a"}) * group(down)
      no series of no value; no cluster gets a result
    group by (job) (up{job="a"}) and group by (job) (up{job="b"})
      no series of no value; no cluster gets a result
    group by (job) (up{job="a"}) unless group by (job) (up{job="b"})
      at most one series of value 1; clusters that do not match get no result
    "#,
    );
}

#[test]
fn scalars_and_strings_are_invalid_results() {
    check_analysis(
        r#"
    1
      a scalar, which is not a valid result
    scalar(up)
      a scalar, which is not a valid result
    up[5m]
      a range vector, which is not a valid result
    "text"
      a string, which is not a valid result
    max_over_time(up[1h:5m])
      any number of series of any value; clusters get a result if they have up
    "#,
    );
}

#[test]
fn queries_of_the_enhancement_have_results() {
    check_analysis(
        r#"
    max(cluster_proxy_enabled{type=~"https?"})
      at most one series of any value; clusters get a result if they have cluster_proxy_enabled{type=~"https?"}
    cluster_infrastructure_provider{type=~"VSphere|None"}
    or
    0 * cluster_infrastructure_provider
      any number of series of any value; clusters get a result if they have cluster_infrastructure_provider
    cluster_infrastructure_provider{type=~"VSphere|None"}
      any number of series of any value; clusters get a result if they have cluster_infrastructure_provider{type=~"VSphere|None"}
    "#,
    );
}

#[test]
fn query_with_too_many_cases_is_unknown() {
    let term = |n: usize| format!("(group(a{n}) or 0 * group(b{n}))");
    let query = (0..7).map(term).collect::<Vec<_>>().join(" * ");
    insta::assert_snapshot!(analysis_of(&query), @"an unknown number of series of unknown value; unknown which clusters get a result");
}

#[test]
fn suspicious_matchers_finds_literal_patterns() {
    let query = Query::parse(r#"a{x="b|c",y=~"b|c",z!="a.*",v="1.2"}"#).unwrap();
    let found: Vec<String> = suspicious_matchers(&query).iter().map(ToString::to_string).collect();
    assert_eq!(found, [r#"x="b|c""#, r#"z!="a.*""#]);
}
