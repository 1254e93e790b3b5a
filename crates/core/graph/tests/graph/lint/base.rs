//! What is new since another state.

use fairway_graph::Files;
use fairway_graph::lint::{Report, lint};

use super::{block, files, with};

fn new_rules(now: &Files, base: &Files) -> Vec<(&'static str, String)> {
    let report = lint(now, None).new_since(&lint(base, None));
    report.findings.into_iter().map(|finding| (finding.rule.id, finding.file)).collect()
}

#[test]
fn what_was_there_is_not_new_wherever_it_went() {
    let bad = with("name", "snake_case");
    let moved = format!("# A comment.\n{bad}");
    let before = files(&[("blocked-edges/a.yaml", &bad)]);
    let after = files(&[("blocked-edges/a.yaml", &moved)]);
    assert_eq!(new_rules(&after, &before), []);
}

#[test]
fn the_same_mistake_in_another_file_is_new() {
    let bad = with("name", "snake_case");
    let before = files(&[("blocked-edges/a.yaml", &bad)]);
    let after = files(&[("blocked-edges/a.yaml", &bad), ("blocked-edges/b.yaml", &bad)]);
    assert_eq!(new_rules(&after, &before), [("name", "blocked-edges/b.yaml".to_owned())]);
}

#[test]
fn a_risk_that_is_extended_brings_no_news_about_its_query() {
    let bad = super::asking("group(up{job=\"a\"})");
    let before = files(&[("blocked-edges/4.7.4-Risk.yaml", &bad)]);
    let extended = bad.replace("to: 4.7.4", "to: 4.7.3");
    let after = files(&[
        ("blocked-edges/4.7.3-Risk.yaml", &extended),
        ("blocked-edges/4.7.4-Risk.yaml", &bad),
    ]);
    assert_eq!(new_rules(&after, &before), []);
}

#[test]
fn nothing_is_new_since_now() {
    let state = files(&[
        ("blocked-edges/a.yaml", "to: 4.9.9\nfrom: x.1.0$\nurl: y\n"),
        ("blocked-edges/b.yaml", &block("4.7.4", "risk")),
    ]);
    assert!(!lint(&state, None).findings.is_empty());
    assert_eq!(lint(&state, None).new_since(&lint(&state, None)), Report::default());
}
