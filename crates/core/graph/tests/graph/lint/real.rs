//! The graph-data of a whole platform: `FAIRWAY_DATA` names the directory that has it.

use std::collections::BTreeMap;

use fairway_graph::data::Severity;
use fairway_graph::lint::lint;

use crate::support::directory_files;

#[test]
fn the_graph_data_of_a_platform_has_no_errors() {
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
