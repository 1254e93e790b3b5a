//! Results, errors and limits of evaluations. `fairway-oracles` compares the results with
//! Prometheus.

use fairway_promql::evaluate::EvaluationLimits;
use fairway_promql::{Query, Snapshot, evaluate, snapshot};
use jiff::Timestamp;
use proptest::prelude::*;

const SAMPLES: &str = r#"
a{x="1"} 1
a{x="2"} 2
a{x="3"} NaN
a{x="4"} 4
b{x="1",y="1"} 1
b{x="1",y="2"} 1
old 1 1699999000000
"#;

fn now() -> Timestamp {
    Timestamp::from_second(1_700_000_000).unwrap()
}

fn within(query: &str, limits: &EvaluationLimits) -> String {
    let snapshot = Snapshot::parse(SAMPLES, now(), &snapshot::SnapshotLimits::default()).unwrap();
    let parsed = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    match evaluate(&parsed, &snapshot, now(), limits) {
        Ok(value) => value.to_string(),
        Err(error) => format!("failed: {error}"),
    }
}

/// Checks a table of queries, each followed by its indented result.
fn check_results(table: &str) {
    let lines: Vec<&str> = table.trim().lines().map(str::trim).collect();
    for case in lines.chunks_exact(2) {
        assert_eq!(within(case[0], &EvaluationLimits::default()), case[1], "{}", case[0]);
    }
}

#[test]
fn value_display() {
    check_results(
        r#"
    1 / 3
      the scalar 0.3333333333333333
    -1 / 0
      the scalar -Inf
    "text"
      the string "text"
    a
      4 series: a{x="1"} 1, a{x="2"} 2, a{x="3"} NaN and 1 more
    max(a)
      1 series: {} 4
    a{x="3"}
      1 series: a{x="3"} NaN
    sum(missing)
      no series
    old
      no series
    last_over_time(old[1h])
      1 series: old 1
    a[5m]
      a range vector of 4 series
    label_replace(max(a), "long", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "", "")
      1 series: {long="abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk… 4
    "#,
    );
}

#[test]
fn evaluation_errors_name_cause_and_remediation() {
    check_results(
        r#"
    a * on (x) b
      failed: b{x="1",y="1"} and b{x="1",y="2"} both match {x="1"} on the right side, where labels must be unique; match on more labels, or aggregate that side
    b * on (x) a
      failed: several series on the left side, such as b{x="1",y="2"}, match one on the right side; use group_left or group_right, or match on more labels
    a * on (x) group_left (y) b
      failed: b{x="1",y="1"} and b{x="1",y="2"} both match {x="1"} on the right side, where labels must be unique; match on more labels, or aggregate that side
    b * on (x) group_left (y) a
      failed: duplicate result {x="1"}; the labels of group_left or group_right make series identical
    label_replace(a, "x", "", "", "")
      failed: two series become a; the operation removed the labels that distinguish them
    label_replace(a, "x-y", "", "", "")
      failed: label_replace cannot create a label "x-y"
    label_replace(a, "x", "", "", "(")
      failed: "(" is not a supported regular expression: unclosed group
    label_join(a, "x", "", "y y")
      failed: label_join cannot create a label "y y"
    count_values("v v", a)
      failed: count_values cannot create a label "v v"
    topk(NaN, a)
      failed: NaN is not a valid number of series
    topk(1e300, a)
      failed: 1e300 is not a valid number of series
    max_over_time(a[5m:1m])
      failed: a subquery is not supported for metrics snapshots; query a Prometheus server, or change the query
    histogram_quantile(0.9, a)
      failed: the function histogram_quantile is not supported for metrics snapshots; query a Prometheus server, or change the query
    a atan2 b
      failed: atan2 is not supported for metrics snapshots; query a Prometheus server, or change the query
    "#,
    );
}

#[test]
fn evaluation_beyond_limits_fails() {
    let limits = EvaluationLimits { series: 9, samples: 6, steps: 12, text: 40, output: 3 };
    let queries = [
        "count(a) + count({x=~\".+\"})",
        "count(a) + count(a)",
        "a * -1 * -1 * -1",
        "label_join(max(a), \"x\", \"a string that is somewhat longer\", \"y\", \"z\")",
        "a",
        "a[5m]",
    ];
    let lines = queries.map(|query| format!("{query}\n  {}", within(query, &limits)));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    count(a) + count({x=~".+"})
      failed: evaluation aborted: the query reads more than 9 series
    count(a) + count(a)
      failed: evaluation aborted: the query reads more than 6 samples
    a * -1 * -1 * -1
      failed: evaluation aborted: the query processes more than 12 values
    label_join(max(a), "x", "a string that is somewhat longer", "y", "z")
      failed: evaluation aborted: the query handles more than 40 bytes of labels
    a
      failed: evaluation aborted: the query returns more than 3 series
    a[5m]
      failed: evaluation aborted: the query returns more than 3 series
    "#);
}

/// Nested functions multiply the size of labels; the limit is checked before labels are created.
#[test]
fn label_growth_is_limited() {
    let joined = |inner: String, _| {
        format!("label_join({inner}, \"x\", \"0123456789\", \"x\", \"x\", \"x\", \"x\")")
    };
    let replaced = |inner: String, _| {
        let template = "$1".repeat(2000);
        format!("label_replace({inner}, \"x\", \"{template}\", \"x\", \"(.*)\")")
    };
    let nested =
        [(0..16).fold("max(a)".to_owned(), joined), (0..3).fold("a{x=\"1\"}".to_owned(), replaced)];
    for nested in nested {
        insta::allow_duplicates! {
            insta::assert_snapshot!(within(&nested, &EvaluationLimits::default()), @"failed: evaluation aborted: the query handles more than 16777216 bytes of labels");
        }
    }
}

/// The deepest accepted trees, on half of the default stack.
#[test]
fn deepest_queries_fit_a_small_stack() {
    let chain = vec!["1"; 101].join(" ^ ");
    let negative = format!("{}a", "-".repeat(100));
    let calls = ("abs(-".repeat(32), ")".repeat(32));
    let mixed = format!("{}{}a{}", calls.0, "1 ^ ".repeat(68), calls.1);
    let aggregates = format!("{}a{}", "topk by (x) (1, ".repeat(32), ")".repeat(32));
    let evaluate = move || {
        for query in [chain, negative, mixed, aggregates] {
            let _ = within(&query, &EvaluationLimits::default());
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(evaluate).unwrap().join().unwrap();
}

#[test]
fn ranges_include_both_ends() {
    let samples = "a 1 1699999700000\na 2 1700000000000";
    let snapshot = Snapshot::parse(samples, now(), &snapshot::SnapshotLimits::default()).unwrap();
    let query = Query::parse("count_over_time(a[5m])").unwrap();
    let value = evaluate(&query, &snapshot, now(), &EvaluationLimits::default()).unwrap();
    assert_eq!(value.to_string(), "1 series: {} 2");
}

/// Separated by whitespace.
const WORDS: &str = r#"
    a b a[5m] b[1h] {x="1"} sum( topk( topk(1, quantile(NaN, count_values("v", by(x) without(y) on(x)
    on() ignoring(y) group_left(y) group_right bool or and unless offset @ start() ( ) , == > + - *
    / % ^ 1 NaN Inf -1 1e300 5m "x" rate( delta( vector( scalar( absent( sort( timestamp( round(
    clamp( max_over_time( quantile_over_time(0.5, label_replace(a,"x","$1","y","(.*)") label_join(
"#;

proptest! {
    #[test]
    fn any_tokens_do_not_panic(words in prop::collection::vec(
        prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>()), 1..8)) {
        let open = words.iter().map(|word| word.matches('(').count()).sum::<usize>();
        let closed = words.iter().map(|word| word.matches(')').count()).sum::<usize>();
        let text = words.join(" ") + &")".repeat(open.saturating_sub(closed));
        if let Ok(query) = Query::parse(&text) {
            let snapshot = Snapshot::parse(SAMPLES, now(), &snapshot::SnapshotLimits::default()).unwrap();
            let _ = evaluate(&query, &snapshot, now(), &EvaluationLimits::default());
        }
    }

    #[test]
    fn evaluate_at_any_time_does_not_panic(now in -9_000_000_000_000_000i64..9_000_000_000_000_000, at in any::<i32>(), years in 1u16..292) {
        let Ok(now) = Timestamp::from_millisecond(now / 1000) else { return Ok(()) };
        let snapshot = Snapshot::parse(SAMPLES, now, &snapshot::SnapshotLimits::default()).unwrap();
        for text in [
            format!("rate(a[{years}y] @ {at} offset {years}y)"),
            format!("delta(a[1ms] offset -{years}y)"),
            "time() - timestamp(a)".to_owned(),
        ] {
            let query = Query::parse(&text).unwrap();
            let _ = evaluate(&query, &snapshot, now, &EvaluationLimits::default());
        }
    }
}
