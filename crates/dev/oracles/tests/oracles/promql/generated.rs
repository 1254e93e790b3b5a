//! Generated queries with generated samples.

use std::cell::Cell;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::promql::generate;
use crate::promql::oracle::Oracle;
use crate::promql::result::QueryResult;

/// Number of generated states.
const STATES: usize = 12;

/// Number of queries; each takes a millisecond.
const QUERIES_PER_CASE: u32 = 4;

fn oracle() -> Oracle {
    let states = generate::states(STATES);
    Oracle::start(&states.new_tree(&mut TestRunner::default()).unwrap().current())
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn generated_queries_match_prometheus() {
    let oracle = oracle();
    let config = Config::default();
    let cases = config.cases * QUERIES_PER_CASE;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..config });
    let (with_series, without) = (Cell::new(0), Cell::new(0));
    let outcome = runner.run(&(0..STATES, generate::query()), |(state, query)| {
        let count = match oracle.compare(state, &query).map_err(TestCaseError::fail)? {
            Ok(QueryResult::Vector(vector)) if vector.is_empty() => &without,
            Ok(_) => &with_series,
            Err(_) => return Ok(()),
        };
        count.set(count.get() + 1);
        Ok(())
    });
    let (with_series, without) = (with_series.get(), without.get());
    println!("of {cases} queries {with_series} yield series, {without} none, the others fail");
    outcome.unwrap();
    assert!(with_series > cases / 4, "the queries say too little");
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn sort_order_matches_prometheus() {
    let oracle = oracle();
    for state in 0..STATES {
        for query in ["sort(a)", "sort_desc(a)", "sort(b)", "topk(9, a)", "bottomk(3, a)"] {
            let (ours, theirs) = (oracle.ours(state, query), oracle.theirs(state, query));
            assert_eq!(ours.unwrap().values(), theirs.unwrap().values(), "{query}");
        }
    }
}
