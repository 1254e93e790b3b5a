//! Matchers that say something else than they look like.

use crate::expr::{Comparison, Matcher};
use crate::query::Query;

/// Comparisons with `=` or `!=` whose value looks like a regular expression: they compare with
/// that very text.
pub fn suspicious_matchers(query: &Query) -> Vec<&Matcher> {
    let matchers = query.selectors().into_iter().flat_map(|selector| &selector.matchers);
    matchers.filter(|matcher| is_literal(matcher) && looks_like_regex(&matcher.value)).collect()
}

fn is_literal(matcher: &Matcher) -> bool {
    matches!(matcher.comparison, Comparison::Equal | Comparison::NotEqual)
}

fn looks_like_regex(value: &str) -> bool {
    ["|", ".*", ".+", "[.]", "\\."].iter().any(|sign| value.contains(sign))
}
