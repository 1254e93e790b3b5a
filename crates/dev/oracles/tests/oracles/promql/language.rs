//! The language: every query that `fairway-promql` accepts has the result of Prometheus.

use std::cell::Cell;

use fairway_promql::snapshot::{Snapshot, SnapshotLimits};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::promql::generate;
use crate::promql::oracle::Oracle;
use crate::promql::result::QueryResult;

/// Labels for which dialects of regular expressions differ.
const ODD: &str = r#"
odd{v="x"} 1
odd{v="k"} 2
odd{v="K"} 3
odd{v="é"} 4
odd{v="٣"} 5
odd{v="a\nb"} 6
odd{v="\n"} 7
odd{v=" "} 8
odd{v="\"\\"} 9
odd{v="7"} 10
odd{v="ſ"} 11
"#;

/// Number of generated texts; few of them are valid queries.
const WORDS_PER_CASE: u32 = 40;

/// Edge cases of the language, one for each line.
const QUERIES: &str = include_str!("language.promql");

/// Tokens, separated by blanks.
const WORDS: &str = r#"
    a b up sum topk by without on ignoring group_left bool or and unless offset @ start end inf nan
    ( ) { } [ ] , = == =~ !~ != + - * ^ : 1 0x1 1e9 5m 1h5s .5 "x" 'y' rate( vector( time( abs(
    (a) {x="1"} [5m] [5m:] sum(a) by(x) 1d 1_0 "1" =~"x" true start() end() info( label_replace(
"#;

/// Tokens in random order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>());
    prop::collection::vec(word, 1..7).prop_map(|words| words.join(" "))
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn accepted_queries_match_prometheus() {
    const STATES: usize = 4;
    let states = generate::states(STATES - 1);
    let mut states = states.new_tree(&mut TestRunner::deterministic()).unwrap().current();
    states.push(Snapshot::parse(ODD, Timestamp::UNIX_EPOCH, &SnapshotLimits::default()).unwrap());
    let oracle = Oracle::start(&states);
    let mut refused = Vec::new();
    for query in QUERIES.lines().filter(|line| !line.is_empty()) {
        match oracle.refusal(query) {
            Some(refusal) if oracle.theirs(0, query).is_ok() => {
                refused.push(format!("{query}: {refusal}"));
            }
            Some(_) => {}
            None => (0..STATES).for_each(|state| drop(oracle.same(state, query))),
        }
    }
    // Queries that only Prometheus accepts.
    insta::assert_snapshot!(refused.join("\n"), @r#"
    a[5m:]: a subquery is not supported for metrics snapshots; query a Prometheus server, or change the query
    a[5m:1m]: a subquery is not supported for metrics snapshots; query a Prometheus server, or change the query
    a[5m:1m] offset 1m: a subquery is not supported for metrics snapshots; query a Prometheus server, or change the query
    sum_over_time(a[5m:1m]): a subquery is not supported for metrics snapshots; query a Prometheus server, or change the query
    a atan2 b: atan2 is not supported for metrics snapshots; query a Prometheus server, or change the query
    day_of_month(): the function day_of_month is not supported for metrics snapshots; query a Prometheus server, or change the query
    hour(a): the function hour is not supported for metrics snapshots; query a Prometheus server, or change the query
    minute(vector(1e9)): the function minute is not supported for metrics snapshots; query a Prometheus server, or change the query
    days_in_month(): the function days_in_month is not supported for metrics snapshots; query a Prometheus server, or change the query
    deriv(a[5m]): the function deriv is not supported for metrics snapshots; query a Prometheus server, or change the query
    predict_linear(a[5m], 60): the function predict_linear is not supported for metrics snapshots; query a Prometheus server, or change the query
    holt_winters(a[5m], 0.5, 0.5): 1:1: unknown function "holt_winters"
    histogram_quantile(0.9, a): the function histogram_quantile is not supported for metrics snapshots; query a Prometheus server, or change the query
    histogram_count(a): the function histogram_count is not supported for metrics snapshots; query a Prometheus server, or change the query
    a{x=~"\\pL+"}: 1:6: "\\pL+" is not a supported regular expression: \p is not supported
    a{x=~"\\Bx"}: 1:6: "\\Bx" is not a supported regular expression: \B is not supported
    a{x=~"\\Q1\\E"}: 1:6: "\\Q1\\E" is not a supported regular expression: unrecognized escape sequence
    a{x=~"1{"}: 1:6: "1{" is not a supported regular expression: unclosed counted repetition
    a{x=~"1{,2}"}: 1:6: "1{,2}" is not a supported regular expression: repetition quantifier expects a valid decimal
    a atan2 2: atan2 is not supported for metrics snapshots; query a Prometheus server, or change the query
    "\xff": 1:2: incomplete escape of a character; use the character itself, or \u and its code point
    "\377": 1:2: incomplete escape of a character; use the character itself, or \u and its code point
    "\xc3\xa9": 1:2: incomplete escape of a character; use the character itself, or \u and its code point
    a{x="\xff"}: 1:6: incomplete escape of a character; use the character itself, or \u and its code point
    label_replace(a, "w", "\xff", "", ""): 1:24: incomplete escape of a character; use the character itself, or \u and its code point
    "#);
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn random_tokens_match_prometheus() {
    let states = generate::states(1).new_tree(&mut TestRunner::default()).unwrap().current();
    let oracle = Oracle::start(&states);
    let config = Config::default();
    let cases = config.cases * WORDS_PER_CASE;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..config });
    let read = Cell::new(0);
    let outcome = runner.run(&words(), |query| {
        // Prometheus fails for a string in parentheses.
        if oracle.refusal(&query).is_some()
            || matches!(oracle.ours(0, &query), Ok(QueryResult::Text(_)))
        {
            return Ok(());
        }
        read.set(read.get() + 1);
        oracle.compare(0, &query).map(drop).map_err(TestCaseError::fail)
    });
    println!("of {cases} texts {} are queries", read.get());
    outcome.unwrap();
}
