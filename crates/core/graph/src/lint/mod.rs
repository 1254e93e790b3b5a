//! Finding the mistakes of graph-data before clusters do.
//!
//! Every rule is a file in `rules`; all of them run, and all that they find is in one
//! [`Report`]. [`print`] shows it to people and to machines, and [`Report::new_since`] leaves out
//! what was there before.

mod embedded;
mod finding;
pub mod print;
mod queries;
mod report;
mod rules;
mod source;
mod tree;
mod versions;

pub use finding::{Finding, Region, Rule};
pub use report::Report;

use crate::data::{BLOCKED_EDGES, CHANNELS, GraphData, Refusal};
use crate::files::Files;
use crate::graph::Graph;
use queries::Asked;
use source::Source;
use versions::Versions;

/// The rules that there are.
pub fn rules() -> Vec<&'static Rule> {
    rules::ALL.iter().flat_map(|(rules, _)| rules.iter().copied()).collect()
}

/// Checks graph-data. What releases declare makes more checks possible, and others more exact.
pub fn lint(files: &Files, declared: Option<&Graph>) -> Report {
    let (data, refusal) = match GraphData::read(files) {
        Ok(data) => (data, None),
        Err(refusal) => (GraphData::default(), Some(refusal)),
    };
    let blocks = source::below(files, BLOCKED_EDGES);
    let context = Context {
        queries: queries::asked(&blocks),
        blocks: &blocks,
        channels: source::below(files, CHANNELS),
        versions: Versions::new(&data, declared),
        files,
        data: &data,
        refusal,
        declared,
    };
    Report::new(rules::ALL.iter().flat_map(|(_, check)| check(&context)).collect())
}

/// What rules look at.
struct Context<'a> {
    files: &'a Files,
    data: &'a GraphData,
    /// Why the data could not be read at all; it is empty then.
    refusal: Option<Refusal>,
    /// The files of blocks that are YAML.
    blocks: &'a [Source<'a>],
    /// The queries in them.
    queries: Vec<Asked<'a>>,
    /// The files of channels that are YAML.
    channels: Vec<Source<'a>>,
    versions: Versions<'a>,
    declared: Option<&'a Graph>,
}

impl Context<'_> {
    /// The YAML file of that path.
    fn source(&self, path: &str) -> Option<&Source<'_>> {
        let directory = if path.starts_with(CHANNELS) { &self.channels } else { self.blocks };
        directory.binary_search_by(|source| source.path.cmp(path)).ok().map(|at| &directory[at])
    }
}
