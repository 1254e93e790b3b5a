//! Stored results of queries.

use std::collections::BTreeMap;

use fairway_risk::evaluations::{Evaluation, EvaluationOutcome, Evaluations, EvaluationsError};
use fairway_risk::{QueryFailure, QueryResult, QueryResultType, Sample};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

fn at(second: i64) -> Timestamp {
    Timestamp::new(second, 700).unwrap()
}

fn sample(labels: &[(&str, &str)], value: f64) -> Sample {
    let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Sample { labels: labels.collect(), value }
}

fn evaluation(query: &str, evaluation: &Result<QueryResult, QueryFailure>) -> Evaluation {
    Evaluation::new(query, evaluation, at(0), Some(at(3600)))
}

fn evaluations_of(all: impl IntoIterator<Item = Evaluation>) -> Evaluations {
    let all: BTreeMap<_, _> = all.into_iter().map(|one| (one.query.clone(), one)).collect();
    Evaluations::new(&all)
}

#[test]
fn evaluations_round_trip() {
    let series = |count: u8| {
        let one = |id: u8| sample(&[("_id", &id.to_string()), ("type", "VSphere")], 1.0);
        QueryResult::Samples((0..count).map(one).collect())
    };
    let evaluations = evaluations_of([
        evaluation("a", &Ok(series(1))),
        evaluation("b", &Ok(QueryResult::Samples(vec![0.0.into()]))),
        evaluation("c", &Ok(series(9))),
        evaluation("d", &Ok(QueryResult::Samples(vec![f64::NAN.into()]))),
        evaluation("e", &Ok(QueryResult::Other(QueryResultType::Scalar))),
        evaluation("f", &Err(QueryFailure::request_failed(&"connection refused"))),
    ]);
    let json = evaluations.to_json().unwrap();
    insta::assert_snapshot!(json.replace("},{\"query\"", "},\n{\"query\""), @r#"
    {"version":1,"queries":[{"query":"a","outcome":"matches","at":"1970-01-01T00:00:00Z","next":"1970-01-01T01:00:00Z","series":1,"samples":[{"labels":{"_id":"0","type":"VSphere"},"value":"1"}]},
    {"query":"b","outcome":"doesNotMatch","at":"1970-01-01T00:00:00Z","next":"1970-01-01T01:00:00Z","series":1,"samples":[{"value":"0"}]},
    {"query":"c","outcome":"failed","why":"the query returned 9 series instead of one","at":"1970-01-01T00:00:00Z","series":9,"samples":[{"labels":{"_id":"0","type":"VSphere"},"value":"1"},{"labels":{"_id":"1","type":"VSphere"},"value":"1"},{"labels":{"_id":"2","type":"VSphere"},"value":"1"},{"labels":{"_id":"3","type":"VSphere"},"value":"1"},{"labels":{"_id":"4","type":"VSphere"},"value":"1"}]},
    {"query":"d","outcome":"failed","why":"the query returned NaN instead of 0 or 1","at":"1970-01-01T00:00:00Z","series":1,"samples":[{"value":"NaN"}]},
    {"query":"e","outcome":"failed","why":"the query returned a scalar instead of one sample","at":"1970-01-01T00:00:00Z","series":0},
    {"query":"f","outcome":"failed","why":"cannot evaluate the query: connection refused","at":"1970-01-01T00:00:00Z","series":0}]}
    "#);
    let read = Evaluations::read(&json).unwrap();
    assert_eq!(read.to_json().unwrap(), json, "compared as text because of NaN");
    assert_eq!(read.get("b"), evaluations.get("b"));
    assert_eq!(read.get("z"), None);
}

#[test]
fn sample_has_prometheus_text_format() {
    let shown = [
        sample(&[], 1.0),
        sample(&[("type", "VSphere"), ("version", "a\"b\n")], 0.5),
        sample(&[], f64::NEG_INFINITY),
    ];
    insta::assert_snapshot!(shown.map(|one| one.to_string()).join("\n"), @r#"
    {} 1
    {type="VSphere", version="a\"b\n"} 0.5
    {} -inf
    "#);
}

#[test]
fn repeats_detects_same_failure() {
    let failed = |why: &str| evaluation("a", &Err(QueryFailure::request_failed(&why)));
    let good = |value: f64| evaluation("a", &Ok(QueryResult::Samples(vec![value.into()])));
    assert!(failed("down").repeats(&failed("down")));
    assert!(!failed("down").repeats(&failed("slow")));
    assert!(!failed("down").repeats(&good(1.0)));
    assert!(!good(1.0).repeats(&good(1.0)), "a success is always new");
}

#[test]
fn evaluations_beyond_limits_are_counted() {
    let long = |number: usize| {
        evaluation(
            &format!("{number:04} {}", "x".repeat(10_000)),
            &Ok(QueryResult::Samples(vec![1.0.into()])),
        )
    };
    let evaluations = evaluations_of((0..100).map(long));
    assert_eq!(evaluations.queries.len() + evaluations.omitted, 100);
    assert!(evaluations.omitted > 40 && evaluations.to_json().unwrap().len() < 600_000);
    let many = evaluations_of(
        (0..600).map(|number| evaluation(&number.to_string(), &Err(QueryFailure::NoSeries))),
    );
    assert_eq!((many.queries.len(), many.omitted), (500, 100));

    let label = "l".repeat(10_000);
    let labels: BTreeMap<_, _> =
        (0..100).map(|number| (format!("{number}{label}"), label.clone())).collect();
    let sample = Sample { labels, value: 1.0 };
    let one = evaluation("a", &Ok(QueryResult::Samples(vec![sample; 100])));
    assert_eq!((one.series, one.samples.len(), one.samples[0].labels.len()), (100, 5, 20));
    assert!(evaluations_of([one]).to_json().unwrap().len() < 50_000);
}

#[test]
fn read_skips_invalid_evaluations() {
    let fine = json!({"query": "a", "outcome": "matches", "at": "2026-01-01T00:00:00Z", "new": 1});
    let read = |document: serde_json::Value| Evaluations::read(&document.to_string());
    let one = read(json!({"version": 1, "queries": [fine], "more": {}})).unwrap();
    assert_eq!((one.queries[0].series, one.omitted), (0, 0));
    assert_eq!(one.queries[0].conclusion, EvaluationOutcome::Matches);
    let some = json!({"version": 1, "omitted": u64::MAX, "queries": [
        fine, null, 7, {}, {"query": "b", "outcome": "matches"},
        {"query": "c", "outcome": "perhaps", "at": "2026-01-01T00:00:00Z"},
        {"query": "d", "outcome": "matches", "at": "yesterday"},
        {"query": "e", "outcome": "matches", "at": "2026-01-01T00:00:00Z", "samples": [{"value": "many"}]},
    ]});
    let some = read(some).unwrap();
    assert_eq!((some.queries.len(), some.omitted), (1, usize::MAX));
    let flood: Vec<_> = (0..5000).map(|_| fine.clone()).collect();
    let flood = read(json!({"version": 1, "queries": flood})).unwrap();
    assert_eq!((flood.queries.len(), flood.omitted), (500, 4500));

    let described = [
        String::new(),
        "hello".to_owned(),
        "[]".to_owned(),
        json!({"queries": []}).to_string(),
        json!({"version": 2}).to_string(),
        json!({"version": "1"}).to_string(),
        json!({"version": 1, "queries": {}}).to_string(),
        "[".repeat(100_000),
        " ".repeat(2 << 20),
    ]
    .map(|text| Evaluations::read(&text).unwrap_err().to_string());
    insta::assert_snapshot!(described.join("\n"), @r#"
    cannot parse it: EOF while parsing a value at line 1 column 0
    cannot parse it: expected value at line 1 column 1
    cannot parse it: invalid length 0, expected an object at line 1 column 2
    cannot parse it: missing field `version` at line 1 column 14
    unsupported version 2; the supported version is 1
    cannot parse it: invalid type: string "1", expected u32 at line 1 column 14
    cannot parse it: invalid type: map, expected a sequence at line 1 column 11
    cannot parse it: invalid type: sequence, expected u32 at line 1 column 1
    2097152 bytes exceed the limit of 1048576 bytes
    "#);
    assert_eq!(read(json!({"version": 3})), Err(EvaluationsError::UnknownVersion(3)));
}

proptest! {
    #[test]
    fn read_of_any_text_does_not_panic(text in ".*", json in r#"[\[\]{}",:0-9a-z]*"#) {
        let _ = Evaluations::read(&text);
        let _ = Evaluations::read(&json);
    }
}
