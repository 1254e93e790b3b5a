//! The queries of all blocks, each once.

use std::collections::BTreeMap;
use std::ops::Range;

use fairway_promql::{ParseError, Query};

use super::embedded;
use super::finding::{Finding, Rule};
use super::source::Source;
use super::tree::Tree;
use crate::data::Severity;

/// A query and where it is written.
pub(super) struct Asked<'a> {
    pub(super) parsed: Result<Query, ParseError>,
    text: &'a str,
    /// Never empty.
    uses: Vec<Use<'a>>,
}

#[derive(Clone, Copy)]
struct Use<'a> {
    source: &'a Source<'a>,
    tree: &'a Tree,
}

/// The queries of blocks, in the order of the files that have them first.
pub(super) fn asked<'a>(blocks: &'a [Source<'a>]) -> Vec<Asked<'a>> {
    let mut order: Vec<Asked<'a>> = Vec::new();
    let mut by_text: BTreeMap<&str, usize> = BTreeMap::new();
    for source in blocks {
        for tree in rules(source).iter().filter_map(query) {
            let Some(text) = tree.text() else { continue };
            let here = Use { source, tree };
            if let Some(known) = by_text.get(text) {
                order[*known].uses.push(here);
                continue;
            }
            by_text.insert(text, order.len());
            order.push(Asked { parsed: Query::parse(text), text, uses: vec![here] });
        }
    }
    order
}

/// The matching rules of a block.
pub(super) fn rules<'a>(source: &'a Source<'_>) -> &'a [Tree] {
    source.tree.get("matchingRules").map_or(&[], Tree::items)
}

/// The query of a matching rule.
pub(super) fn query(rule: &Tree) -> Option<&Tree> {
    promql(promql(rule)?)
}

/// Both spellings are read.
fn promql(tree: &Tree) -> Option<&Tree> {
    tree.get("promql").or_else(|| tree.get("PromQL"))
}

impl Asked<'_> {
    /// A finding in a part of the query; it is shown in the first file that has it.
    pub(super) fn finding(
        &self,
        rule: &'static Rule,
        severity: Severity,
        part: Range<usize>,
        message: impl Into<String>,
    ) -> Finding {
        let Use { source, tree } = self.uses[0];
        let written = source.written(tree);
        let span = match embedded::place(written, self.text, part) {
            Some(place) => tree.span.start + place.start..tree.span.start + place.end,
            None => tree.span.clone(),
        };
        let name = source.tree.get("name").and_then(Tree::text).unwrap_or(source.path);
        let also = self.uses[1..].iter().map(|other| other.source.path.to_owned()).collect();
        source.finding(rule, severity, span, message).about(name).also(also)
    }

    /// All of the query, without the blanks around it.
    pub(super) fn whole(&self) -> Range<usize> {
        let begin = self.text.len() - self.text.trim_start().len();
        begin..self.text.trim_end().len()
    }
}
