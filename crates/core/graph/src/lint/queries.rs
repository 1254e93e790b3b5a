//! The PromQL queries of all blocked edges, without duplicates.

use std::collections::BTreeMap;
use std::ops::Range;

use fairway_promql::{ParseError, Query};

use super::report::{LintFinding, LintRule};
use super::yaml::{YamlFile, YamlNode};
use crate::data::Severity;

/// A query and the files that contain it.
pub(super) struct RuleQuery<'a> {
    pub(super) parsed: Result<Query, ParseError>,
    text: &'a str,
    /// Never empty.
    uses: Vec<QueryUse<'a>>,
}

#[derive(Clone, Copy)]
struct QueryUse<'a> {
    source: &'a YamlFile<'a>,
    tree: &'a YamlNode,
}

/// The queries of blocked edges, in the order of their first files.
pub(super) fn rule_queries<'a>(blocks: &'a [YamlFile<'a>]) -> Vec<RuleQuery<'a>> {
    let mut order: Vec<RuleQuery<'a>> = Vec::new();
    let mut by_text: BTreeMap<&str, usize> = BTreeMap::new();
    for source in blocks {
        for tree in rules(source).iter().filter_map(query) {
            let Some(text) = tree.text() else { continue };
            let here = QueryUse { source, tree };
            if let Some(known) = by_text.get(text) {
                order[*known].uses.push(here);
                continue;
            }
            by_text.insert(text, order.len());
            order.push(RuleQuery { parsed: Query::parse(text), text, uses: vec![here] });
        }
    }
    order
}

/// Matching rules of a file.
pub(super) fn rules<'a>(source: &'a YamlFile<'_>) -> &'a [YamlNode] {
    source.tree.get("matchingRules").map_or(&[], YamlNode::items)
}

/// The query of a matching rule.
pub(super) fn query(rule: &YamlNode) -> Option<&YamlNode> {
    promql(promql(rule)?)
}

/// The reader accepts both spellings.
fn promql(tree: &YamlNode) -> Option<&YamlNode> {
    tree.get("promql").or_else(|| tree.get("PromQL"))
}

impl RuleQuery<'_> {
    /// A finding in a part of the query, located in the first file that has the query.
    pub(super) fn finding(
        &self,
        rule: &'static LintRule,
        severity: Severity,
        part: Range<usize>,
        message: impl Into<String>,
    ) -> LintFinding {
        let QueryUse { source, tree } = self.uses[0];
        let written = source.source_of(tree);
        let span = match span_in_source(written, self.text, part) {
            Some(place) => tree.span.start + place.start..tree.span.start + place.end,
            None => tree.span.clone(),
        };
        let name = source.tree.get("name").and_then(YamlNode::text).unwrap_or(source.path);
        let also = self.uses[1..].iter().map(|other| other.source.path.to_owned()).collect();
        source.finding(rule, severity, span, message).about(name).also(also)
    }

    /// Byte range of the query without surrounding whitespace.
    pub(super) fn whole(&self) -> Range<usize> {
        let begin = self.text.len() - self.text.trim_start().len();
        begin..self.text.trim_end().len()
    }
}

/// The span of a part of `value` in `written`, its YAML source with quotes, escapes, line breaks
/// and indentation. `None` if the source uses other escapes.
///
/// Compares both character by character and skips characters that only YAML has.
fn span_in_source(written: &str, value: &str, part: Range<usize>) -> Option<Range<usize>> {
    let mut source = written.char_indices().peekable();
    let (mut start, mut end) = (None, None);
    for (at, character) in value.char_indices() {
        let blank = character.is_whitespace();
        let (place, found) = source.find(|(_, found)| {
            *found == character || (blank && found.is_whitespace()) || !is_yaml_syntax(*found)
        })?;
        if found != character && !(blank && found.is_whitespace()) {
            return None;
        }
        if at >= part.start && start.is_none() {
            start = Some(place);
        }
        if at < part.end.max(part.start + 1) {
            end = Some(place + found.len_utf8());
        }
    }
    let start = start.unwrap_or_else(|| written.trim_end().len());
    Some(start..end.unwrap_or(start).max(start))
}

/// Whether YAML can have this character where the value has none.
fn is_yaml_syntax(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '\\')
}

#[cfg(test)]
mod tests {
    use super::span_in_source;

    fn found<'a>(written: &'a str, value: &str, part: &str) -> Option<&'a str> {
        let start = value.find(part).unwrap();
        span_in_source(written, value, start..start + part.len()).map(|place| &written[place])
    }

    #[test]
    fn span_in_source_of_each_yaml_style_returns_span() {
        let value = "group(up{a=\"b\"})\n  or\n0 * gruop(up)\n";
        let block = "group(up{a=\"b\"})\n        or\n      0 * gruop(up)\n";
        assert_eq!(found(block, value, "gruop"), Some("gruop"));
        assert_eq!(found(block, value, "or"), Some("or"));
        let quoted = r#""group(up{a=\"b\"})\n  or\n0 * gruop(up)\n""#;
        assert_eq!(found(quoted, "group(up{a=\"b\"})", "b"), Some("b"));
        assert_eq!(found("'it''s up'", "it's up", "up"), Some("up"));
        assert_eq!(found("one\n  two three", "one two three", "two three"), Some("two three"));
    }

    #[test]
    fn span_in_source_with_other_text_is_none() {
        assert_eq!(found(r#""a\u0062c""#, "abc", "c"), None);
        assert_eq!(found("other", "text", "t"), None);
    }

    #[test]
    fn span_in_source_at_end_of_text_returns_span() {
        assert_eq!(span_in_source("group(up) or\n", "group(up) or\n", 12..13), Some(12..13));
        assert_eq!(span_in_source("a +", "a +", 3..3), Some(3..3));
    }
}
