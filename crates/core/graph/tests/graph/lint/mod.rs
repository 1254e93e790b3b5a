//! Tests of the linter: findings of each rule, and valid input without findings.

mod print;
mod rules;

use std::collections::BTreeMap;

use fairway_graph::Files;
use fairway_graph::data::Severity;
use fairway_graph::lint::print::{Style, text};
use fairway_graph::lint::{FileRegion, LintFinding, LintReport, lint};
use proptest::prelude::*;

use crate::support::{self, directory_files};

/// A valid file with blocked edges for a risk.
fn block(to: &str, name: &str) -> String {
    format!(
        "to: {to}\n\
         from: 4[.]6[.].*\n\
         url: https://example.com/{name}\n\
         name: {name}\n\
         message: Something may go wrong.\n\
         fixedIn: 4.7.9\n\
         matchingRules:\n\
         - type: Always\n"
    )
}

/// Graph-data with these files, a schema version and a channel.
fn files(texts: &[(&str, &str)]) -> Files {
    let versions = "name: stable-4.7\nversions: [4.6.22, 4.6.23, 4.7.3, 4.7.4, 4.7.5]\n";
    let mut all = vec![("version", "1.1.0\n"), ("channels/stable-4.7.yaml", versions)];
    all.extend(texts);
    support::files(all)
}

/// The findings in one or more lines each: position, severity, rule and message, other files, help.
fn compact(report: &LintReport) -> String {
    let mut lines = Vec::new();
    for LintFinding { rule, severity, file, region, message, help, also, .. } in &report.findings {
        let position =
            region.as_ref().map_or_else(String::new, |FileRegion { start, end, .. }| {
                let end_column = end.column.max(start.column + 1);
                if start.line == end.line {
                    format!(":{}:{}-{end_column}", start.line, start.column)
                } else {
                    format!(":{}:{}-{}:{}", start.line, start.column, end.line, end.column)
                }
            });
        let severity = match severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error | Severity::Open => "error",
        };
        lines.push(format!("{file}{position}: {severity}[{}]: {message}", rule.id));
        lines.extend((!also.is_empty()).then(|| format!("  also in {}", also.join(", "))));
        lines.extend(help.as_ref().map(|help| format!("  help: {help}")));
    }
    lines.join("\n")
}

/// The findings in graph-data with these files.
fn report_of(texts: &[(&str, &str)]) -> String {
    compact(&lint(&files(texts), None))
}

/// The findings in one file with blocked edges.
fn report_of_block(text: &str) -> String {
    report_of(&[("blocked-edges/4.7.4-Risk.yaml", text)])
}

/// A valid file with one line replaced or added.
fn with(key: &str, value: &str) -> String {
    let block = block("4.7.4", "Risk");
    let is_key = |line: &str| line.split(':').next() == Some(key);
    let mut lines: Vec<String> =
        block.lines().filter(|line| !is_key(line)).map(str::to_owned).collect();
    lines.insert(0, format!("{key}: {value}"));
    lines.join("\n") + "\n"
}

/// A file with a PromQL query.
fn block_with_query(query: &str) -> String {
    let indented = query.replace('\n', "\n      ");
    let rule = format!("- type: PromQL\n  promql:\n    promql: |\n      {indented}\n");
    block("4.7.4", "Risk").replace("- type: Always\n", &rule)
}

#[test]
fn lint_valid_files_finds_nothing() {
    assert_eq!(report_of_block(&block("4.7.4", "Risk")), "");
    let query_block = block_with_query("group(up{job=\"a\"})\nor\n0 * group(up)");
    assert_eq!(report_of_block(&query_block), "");
}

#[test]
fn rule_ids_are_unique() {
    let mut ids: Vec<&str> = fairway_graph::lint::rules().iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), fairway_graph::lint::rules().len());
}

/// Separated by whitespace.
const WORDS: &str = r#"
    to: from: url: name: message: matchingRules: fixedIn: - { } [ ] , : ' " | > & * # type: PromQL
    promql: 4.7.4 4.10 .* 4[.] group(up) or ( ä \u0000 versions: tombstones: feeder: filter: delay:
"#;

proptest! {
    #[test]
    fn lint_of_any_file_does_not_panic(
        words in prop::collection::vec(prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>()), 0..30),
        glue in prop::sample::select(vec![" ", "\n", "\n  "]),
    ) {
        let file = words.join(glue);
        let files = files(&[("blocked-edges/a.yaml", &file), ("channels/a.yaml", &file)]);
        let report = lint(&files, None);
        let _ = text(&report, &files, Style::Plain);
        prop_assert!(report.findings.iter().all(|finding| !finding.message.is_empty()));
    }
}

fn new_rules(now: &Files, base: &Files) -> Vec<(&'static str, String)> {
    let report = lint(now, None).new_since(&lint(base, None));
    report.findings.into_iter().map(|finding| (finding.rule.id, finding.file)).collect()
}

#[test]
fn new_since_with_moved_lines_is_empty() {
    let bad = with("name", "snake_case");
    let moved = format!("# A comment.\n{bad}");
    let before = files(&[("blocked-edges/a.yaml", &bad)]);
    let after = files(&[("blocked-edges/a.yaml", &moved)]);
    assert_eq!(new_rules(&after, &before), []);
}

#[test]
fn new_since_with_same_finding_in_other_file_returns_it() {
    let bad = with("name", "snake_case");
    let before = files(&[("blocked-edges/a.yaml", &bad)]);
    let after = files(&[("blocked-edges/a.yaml", &bad), ("blocked-edges/b.yaml", &bad)]);
    assert_eq!(new_rules(&after, &before), [("name", "blocked-edges/b.yaml".to_owned())]);
}

#[test]
fn new_since_with_extended_risk_is_empty() {
    let bad = block_with_query("group(up{job=\"a\"})");
    let before = files(&[("blocked-edges/4.7.4-Risk.yaml", &bad)]);
    let extended = bad.replace("to: 4.7.4", "to: 4.7.3");
    let after = files(&[
        ("blocked-edges/4.7.3-Risk.yaml", &extended),
        ("blocked-edges/4.7.4-Risk.yaml", &bad),
    ]);
    assert_eq!(new_rules(&after, &before), []);
}

#[test]
fn new_since_with_same_state_is_empty() {
    let state = files(&[
        ("blocked-edges/a.yaml", "to: 4.9.9\nfrom: x.1.0$\nurl: y\n"),
        ("blocked-edges/b.yaml", &block("4.7.4", "risk")),
    ]);
    assert!(!lint(&state, None).findings.is_empty());
    assert_eq!(lint(&state, None).new_since(&lint(&state, None)), LintReport::default());
}

#[test]
fn lint_openshift_graph_data_finds_no_errors() {
    let Some(data) = fairway_fixtures::environment::data() else { return };
    let files = directory_files(&data.join("graph-data-2026-08"));
    let report = lint(&files, None);
    assert_eq!(report.worst(), Some(Severity::Warning));
    let expected = BTreeMap::from([
        ("literal-pattern", 1),
        ("name", 1),
        ("not-extended", 15),
        ("query-series", 20),
        ("query-values", 2),
        ("tombstone", 10),
        ("unexplained", 116),
        ("unknown-target", 3),
    ]);
    assert_eq!(report.counts(), expected);
}
