//! A YAML file of graph-data, and findings in it.

use std::ops::Range;

use super::finding::{Finding, Region, Rule};
use super::tree::Tree;
use crate::data::{Position, Severity};
use crate::files::Files;

/// A YAML file.
pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) tree: Tree,
}

/// The YAML files right below a directory, in the order of their paths.
pub(super) fn below<'a>(files: &'a Files, directory: &'a str) -> Vec<Source<'a>> {
    let yaml = |path: &str| matches!(path.rsplit_once('.'), Some((_, "yaml" | "yml")));
    files
        .below(directory)
        .filter(|(path, _)| yaml(path))
        .filter_map(|(path, bytes)| {
            let text = std::str::from_utf8(bytes).ok()?;
            Some(Source { path, text, tree: Tree::read(path, bytes)? })
        })
        .collect()
}

impl Source<'_> {
    /// A finding in a part of the file.
    pub(super) fn finding(
        &self,
        rule: &'static Rule,
        severity: Severity,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> Finding {
        let region = Some(Region::of(self.text, span));
        Finding { region, ..rule.in_file(severity, self.path, message) }
    }

    /// Where a list has that item.
    pub(super) fn item(&self, list: &str, item: &str) -> Option<Range<usize>> {
        let items = self.tree.get(list)?.items();
        items.iter().find(|found| found.text() == Some(item)).map(|found| found.span.clone())
    }

    /// What is written somewhere.
    pub(super) fn written(&self, tree: &Tree) -> &str {
        self.text.get(tree.span.clone()).unwrap_or_default()
    }
}

/// From a position to the end of its line.
pub(super) fn rest_of_line(text: &str, position: Position) -> Range<usize> {
    let before = usize::try_from(position.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let line_start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
    let line = text[line_start..].lines().next().unwrap_or_default();
    let column = usize::try_from(position.column.saturating_sub(1)).unwrap_or(usize::MAX);
    let skipped: usize = line.chars().take(column).map(char::len_utf8).sum();
    line_start + skipped..line_start + line.trim_end().len().max(skipped)
}
