//! Linter for graph-data.
//!
//! All rules run, and [`lint`] returns their findings in one [`LintReport`].
//! [`LintReport::new_since`] removes findings of a previous state.
//!
//! | module | content |
//! | --- | --- |
//! | `rules` | the rules, by topic: syntax, risks, versions, queries, channels |
//! | `report` | rules, findings and reports |
//! | `print` | formats of a report: text, JSON and SARIF |
//! | `yaml` | YAML files with the position of every value |
//! | `known_versions` | known versions and the updates between them |
//! | `queries` | PromQL queries of all blocked edges |

mod known_versions;
pub mod print;
mod queries;
mod report;
mod rules;
mod yaml;

pub use report::{FileRegion, LintFinding, LintReport, LintRule};

use crate::data::{BLOCKED_EDGES, CHANNELS, GraphData, GraphDataError};
use crate::files::Files;
use crate::graph::Graph;
use known_versions::KnownVersions;
use queries::RuleQuery;
use yaml::YamlFile;

/// All rules.
pub fn rules() -> Vec<&'static LintRule> {
    rules::ALL.iter().flat_map(|(rules, _)| rules.iter().copied()).collect()
}

/// Lints graph-data. With the declared releases, more rules can be checked, and others exactly.
pub fn lint(files: &Files, declared: Option<&Graph>) -> LintReport {
    let (data, refusal) = match GraphData::read(files) {
        Ok(data) => (data, None),
        Err(refusal) => (GraphData::default(), Some(refusal)),
    };
    let blocks = yaml::files_in(files, BLOCKED_EDGES);
    let context = LintContext {
        queries: queries::rule_queries(&blocks),
        blocks: &blocks,
        channels: yaml::files_in(files, CHANNELS),
        versions: KnownVersions::new(&data, declared),
        files,
        data: &data,
        refusal,
        declared,
    };
    LintReport::new(rules::ALL.iter().flat_map(|(_, check)| check(&context)).collect())
}

/// Input of the rules.
struct LintContext<'a> {
    files: &'a Files,
    data: &'a GraphData,
    /// Reason why the data cannot be used; `data` is empty then.
    refusal: Option<GraphDataError>,
    /// YAML files with blocked edges.
    blocks: &'a [YamlFile<'a>],
    /// Queries of the blocked edges.
    queries: Vec<RuleQuery<'a>>,
    /// YAML files with channels.
    channels: Vec<YamlFile<'a>>,
    versions: KnownVersions<'a>,
    declared: Option<&'a Graph>,
}

impl LintContext<'_> {
    /// The YAML file with a path.
    fn file(&self, path: &str) -> Option<&YamlFile<'_>> {
        let directory = if path.starts_with(CHANNELS) { &self.channels } else { self.blocks };
        directory.binary_search_by(|source| source.path.cmp(path)).ok().map(|at| &directory[at])
    }
}
