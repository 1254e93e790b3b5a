//! Stale series, which only the rule tests of Prometheus can express.

use std::process::Command;

use fairway_promql::snapshot::{STALE, Sample, SnapshotBuilder, SnapshotLimits};
use fairway_promql::{LabelSet, Query, QueryValue, Snapshot, evaluate};
use jiff::Timestamp;

/// A sample for each minute; `_` is a missing one.
const SERIES: [(&str, &str); 5] = [
    ("lives", "1 2 3 4 5 6 7 8 9 10"),
    ("ends", "1 2 3 4 5 6 7 8 stale _"),
    ("ended", "1 2 3 4 stale _ _ _ _ _"),
    ("returns", "1 2 3 stale _ _ 7 8 9 10"),
    ("fades", "1 2 3 4 5 6 _ _ _ _"),
];

const QUERIES: [&str; 10] = [
    "a",
    "a offset 2m30s",
    "count_over_time(a[20m])",
    "sum_over_time(a[4m30s])",
    "last_over_time(a[20m])",
    "rate(a[20m])",
    "changes(a[20m])",
    "absent(a{series=\"ended\"})",
    "absent_over_time(a{series=\"ended\"}[5m30s])",
    "timestamp(a)",
];

fn snapshot() -> Snapshot {
    let mut builder = SnapshotBuilder::new(SnapshotLimits::default());
    for (name, values) in SERIES {
        for (minute, word) in (0..).zip(values.split(' ')).filter(|(_, word)| *word != "_") {
            let value = if word == "stale" { STALE } else { word.parse().unwrap() };
            let labels = LabelSet::from([("__name__", "a"), ("series", name)]);
            builder.add(labels, Sample { at: minute * 60_000, value }).unwrap();
        }
    }
    builder.build().unwrap()
}

/// A rule test that expects the results of `fairway-promql`.
fn rule_test(now: Timestamp) -> String {
    let series = SERIES.map(|(name, values)| {
        format!("  - {{series: 'a{{series=\"{name}\"}}', values: '{values}'}}\n")
    });
    let expectations = QUERIES.map(|query| {
        let parsed = Query::parse(query).unwrap();
        let ours =
            evaluate(&parsed, &snapshot(), now, &evaluate::EvaluationLimits::default()).unwrap();
        let QueryValue::Vector(vector) = ours else { panic!("{query}: {ours}") };
        let samples = vector.iter().map(|element| {
            format!("    - {{labels: '{}', value: {}}}\n", element.labels, element.value)
        });
        let samples: String = samples.collect();
        let seconds = now.as_second();
        format!("  - expr: '{query}'\n    eval_time: {seconds}s\n    exp_samples:\n{samples}")
    });
    let (series, expectations) = (series.concat(), expectations.concat());
    format!("tests:\n- interval: 1m\n  input_series:\n{series}  promql_expr_test:\n{expectations}")
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn stale_series_match_prometheus() {
    fairway_testbed::install_packages(&|_| {}).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("test.yaml");
    // Not at the time of a sample or the start of a window.
    for seconds in [200, 290, 350, 500, 570] {
        let now = Timestamp::from_second(seconds).unwrap();
        std::fs::write(&file, rule_test(now)).unwrap();
        let output = Command::new("promtool").args(["test", "rules"]).arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }
}
