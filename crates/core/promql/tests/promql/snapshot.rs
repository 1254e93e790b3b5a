//! Formats of snapshots, errors and their lines.

use fairway_promql::snapshot::{Sample, SnapshotBuilder, SnapshotLimits};
use fairway_promql::{LabelSet, Snapshot};
use jiff::Timestamp;
use proptest::prelude::*;

const NOW: i64 = 1_700_000_000;

fn parse(text: &str) -> Result<Snapshot, String> {
    parse_within(text, &SnapshotLimits::default())
}

fn parse_within(text: &str, limits: &SnapshotLimits) -> Result<Snapshot, String> {
    let now = Timestamp::from_second(NOW).unwrap();
    Snapshot::parse(text, now, limits).map_err(|error| error.to_string())
}

/// One line for each sample.
fn list_samples(text: &str) -> String {
    let snapshot = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let lines = snapshot.series().iter().flat_map(|series| {
        series
            .samples
            .iter()
            .map(|sample| format!("{} {} {}", series.labels, sample.value, sample.at))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn prometheus_text_format_is_read() {
    insta::assert_snapshot!(list_samples(r#"
# HELP b_total Some counter.
# TYPE b_total counter
b_total{code="200",} 1027 1699999999000
b_total { code = "400" , method = "post" }   3
a 1.5e3

a{path="C:\\DIR\n\"x\" \d",empty="",brace="}{"} +Inf
c NaN -1000
"#), @r#"
    a 1500 1700000000000
    a{brace="}{",path="C:\\DIR\n\"x\" \\d"} inf 1700000000000
    b_total{code="200"} 1027 1699999999000
    b_total{code="400",method="post"} 3 1700000000000
    c NaN -1000
    "#);
}

#[test]
fn openmetrics_format_is_read() {
    insta::assert_snapshot!(list_samples(r#"# TYPE a counter
# UNIT a_seconds seconds
a_total 17.0 1699999999.5 # {trace_id="x # y"} 0.67
a_bucket{le="0.1"} 8 # {} 0.054 1699999998
a_created 1
b 1 -1.5
# EOF
"#), @r#"
    a_bucket{le="0.1"} 8 1700000000000
    a_created 1 1700000000000
    a_total 17 1699999999500
    b 1 -1500
    "#);
}

#[test]
fn json_responses_are_read() {
    insta::assert_snapshot!(list_samples(r#"{"status":"success","data":{"resultType":"matrix","result":[
        {"metric":{"__name__":"b","x":"1"},"values":[[1699999940,"2"],[1699999999.123,"NaN"]]},
        {"metric":{"x":"2"},"values":[[1699999999.123,"-Inf"]]}
    ]},"warnings":["some"]}"#), @r#"
    b{x="1"} 2 1699999940000
    b{x="1"} NaN 1699999999123
    {x="2"} -inf 1699999999123
    "#);
    insta::assert_snapshot!(list_samples(r#"
        {"data": {"result": [{"metric": {"__name__": "a"}, "value": [1700000000, "1"]}]}}"#), @"a 1 1700000000000");
    assert!(parse(r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#).is_ok());
}

#[test]
fn invalid_snapshots_report_line() {
    // Each text, as a JSON string, is followed by its error.
    let table = r##"
    "a 1\nb"
      line 2: expected a number, found ""
    "a one"
      line 1: expected a number, found "one"
    "a 1 2 3"
      line 1: expected the end of the line, found "3"
    "a 1 1.5"
      line 1: expected a time in whole milliseconds, found "1.5"
    "a 1 x\n# EOF"
      line 1: expected a time in seconds, found "x"
    "a{b=\"1\" c=\"2\"} 1"
      line 1: expected a comma or }, found "c=\"2\"} 1"
    "a{b=1} 1"
      line 1: expected a quoted string, found "1} 1"
    "a{b=\"1} 1"
      line 1: expected a string that ends with ", found "1} 1"
    "a{b} 1"
      line 1: expected a label, found "b} 1"
    "a{b=\"1\",b=\"2\"} 1"
      line 1: duplicate label "b"
    "a{b-c=\"1\"} 1"
      line 1: expected a label name, found "b-c"
    "a.b 1"
      line 1: expected a metric name, found "a.b"
    "ä 1"
      line 1: expected a metric name, found "ä"
    "{\"a.b\"} 1"
      line 1: not a Prometheus response: expected `:`
    "a 1 5\n\na 2 5"
      line 3: a has two values at 5 ms
    "# EOF\na 1\n# EOF"
      line 2: unexpected content after # EOF
    "{"
      line 1: not a Prometheus response: EOF while parsing an object
    "{\"data\": {\"result\":\n[{\"metric\": {}, \"value\": [1, 1]}]}}"
      line 2: not a Prometheus response: invalid type: integer `1`, expected a string
    "{\"data\": {\"result\": [{\"metric\": {}, \"value\": [1, \"x\"]}]}}"
      line 1: not a Prometheus response: "x" is not a number
    "{\"data\": {\"result\": [{\"metric\": {}, \"value\": [1e99, \"1\"]}]}}"
      line 1: not a Prometheus response: 1e99 is not a valid time
    "{\"data\": {\"result\": [{\"metric\": {\"a b\": \"1\"}, \"value\": [1, \"1\"]}]}}"
      line 1: expected a label name, found "a b"
    "{\"data\": {\"result\": [{\"metric\": {\"a\": \"1\"}, \"histogram\": [1, {}]}]}}"
      line 1: {a="1"} has native histograms, which are not supported
    "{\"data\": {\"resultType\": \"scalar\", \"result\": [1, \"1\"]}}"
      line 1: not a Prometheus response: invalid type: integer `1`, expected a series
    "{\"status\": \"error\", \"errorType\": \"bad_data\", \"error\": \"no such thing\"}"
      line 1: Prometheus returned the error "no such thing"
    "##;
    let lines: Vec<&str> = table.trim().lines().map(str::trim).collect();
    for case in lines.chunks_exact(2) {
        let text: String = serde_json::from_str(case[0]).unwrap();
        assert_eq!(parse(&text).unwrap_err(), case[1]);
    }
}

#[test]
fn input_beyond_limits_is_rejected() {
    let limits = SnapshotLimits { bytes: 40, series: 2, samples: 3, labels: 3, label_bytes: 8 };
    let error_of = [
        &"a 1\n".repeat(20),
        "a 1\nb 1\nc 1",
        "a 1 1\na 1 2\na 1 3\na 1 4",
        "a{b=\"1\",c=\"2\",d=\"3\"} 1",
        "a{b=\"123456789\"} 1",
        "abcdefghi 1",
    ];
    let errors = error_of.map(|text| parse_within(text, &limits).unwrap_err());
    insta::assert_snapshot!(errors.join("\n"), @r#"
    the snapshot has 80 bytes; the limit is 40 bytes
    line 3: more than 2 series; keep only the series that the queries read
    line 4: more than 3 samples; keep only the last hour
    line 1: a series has 4 labels; the limit is 3
    line 1: the name or value of label "b" exceeds 8 bytes
    line 1: the name or value of label "__name__" exceeds 8 bytes
    "#);
    parse_within("a{b=\"1\",c=\"2\"} 1 1\nb 2\nb 3 3", &limits).unwrap();
}

#[test]
fn samples_are_sorted() {
    let mut builder = SnapshotBuilder::new(SnapshotLimits::default());
    for at in [3, 1, 2] {
        let labels = LabelSet::from([("x", "1"), ("__name__", "a"), ("empty", "")]);
        builder.add(labels, Sample { at: at * 1000, value: 0.5 }).unwrap();
    }
    let snapshot = builder.build().unwrap();
    assert_eq!(snapshot.latest(), Timestamp::from_second(3).ok());
    let [series] = snapshot.series() else { panic!("{snapshot:?}") };
    assert_eq!(series.labels.to_string(), "a{x=\"1\"}");
    assert!(series.samples.is_sorted_by_key(|sample| sample.at));
}

/// Separated by whitespace.
const WORDS: &str = r#"
    a {a="b"} {a="b",} { } = , " \ \n \" 1 1.5 NaN -1 # EOF {"data":{"result":[ ]}} [1,"1"] "metric"
    {"metric":{},"value":[1,"1"]} :
"#;

proptest! {
    #[test]
    fn any_tokens_do_not_panic(words in prop::collection::vec(
        prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>()), 0..24), glue in "[ \n]?") {
        let _ = parse(&words.join(&glue));
    }

    #[test]
    fn any_text_does_not_panic(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }
}
