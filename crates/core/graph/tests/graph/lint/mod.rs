//! The linter: what each rule finds, and what it leaves alone.

mod base;
mod blocks;
mod channels;
mod print;
mod queries;
mod real;
mod versions;

use fairway_graph::lint::print::{Style, text};
use fairway_graph::lint::{Report, lint};
use fairway_graph::{Files, Graph};
use proptest::prelude::*;

use crate::support;

/// A block without fault, for a risk of that name.
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

/// Graph-data with these files, a channel with some versions, and all it needs besides.
fn files(texts: &[(&str, &str)]) -> Files {
    let versions = "name: stable-4.7\nversions: [4.6.22, 4.6.23, 4.7.3, 4.7.4, 4.7.5]\n";
    let mut all = vec![("version", "1.1.0\n"), ("channels/stable-4.7.yaml", versions)];
    all.extend(texts);
    support::files(all)
}

fn checked(files: &Files, declared: Option<&Graph>) -> (Report, String) {
    let report = lint(files, declared);
    let shown = text(&report, files, Style::Plain);
    (report, shown)
}

/// What people get to see about graph-data with these files.
fn shown(texts: &[(&str, &str)]) -> String {
    checked(&files(texts), None).1
}

/// What people get to see about one block.
fn shown_of(text: &str) -> String {
    shown(&[("blocked-edges/4.7.4-Risk.yaml", text)])
}

/// A block with one line replaced, or added where there is none of that key.
fn with(key: &str, value: &str) -> String {
    let block = block("4.7.4", "Risk");
    let is_key = |line: &str| line.split(':').next() == Some(key);
    let mut lines: Vec<String> =
        block.lines().filter(|line| !is_key(line)).map(str::to_owned).collect();
    lines.insert(0, format!("{key}: {value}"));
    lines.join("\n") + "\n"
}

/// A block that asks this query.
fn asking(query: &str) -> String {
    let indented = query.replace('\n', "\n      ");
    let rule = format!("- type: PromQL\n  promql:\n    promql: |\n      {indented}\n");
    block("4.7.4", "Risk").replace("- type: Always\n", &rule)
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(shown_of(&block("4.7.4", "Risk")), "no findings\n");
    let question = asking("group(up{job=\"a\"})\nor\n0 * group(up)");
    assert_eq!(shown_of(&question), "no findings\n");
}

#[test]
fn every_rule_has_a_name_of_its_own() {
    let mut ids: Vec<&str> = fairway_graph::lint::rules().iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), fairway_graph::lint::rules().len());
}

/// Separated by blanks.
const WORDS: &str = r#"
    to: from: url: name: message: matchingRules: fixedIn: - { } [ ] , : ' " | > & * # type: PromQL
    promql: 4.7.4 4.10 .* 4[.] group(up) or ( ä \u0000 versions: tombstones: feeder: filter: delay:
"#;

proptest! {
    #[test]
    fn no_file_makes_it_panic(
        words in prop::collection::vec(prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>()), 0..30),
        glue in prop::sample::select(vec![" ", "\n", "\n  "]),
    ) {
        let text = words.join(glue);
        let files = files(&[("blocked-edges/a.yaml", &text), ("channels/a.yaml", &text)]);
        let (report, _) = checked(&files, None);
        prop_assert!(report.findings.iter().all(|finding| !finding.message.is_empty()));
    }
}
