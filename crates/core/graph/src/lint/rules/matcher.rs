//! Comparisons that look like patterns and are none.

use fairway_promql::analysis::suspicious_matchers;

use super::{Context, Finding, Rule};
use crate::data::Severity;

pub(super) static RULE: Rule =
    Rule { id: "literal-pattern", summary: "A label is compared with a pattern as literal text" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let parsed =
        context.queries.iter().filter_map(|asked| Some((asked, asked.parsed.as_ref().ok()?)));
    parsed
        .flat_map(|(asked, query)| {
            let suspicious = suspicious_matchers(query).into_iter();
            suspicious.map(move |matcher| {
                let written = matcher.to_string();
                let start = query.text().find(&written);
                let part = start.map_or(asked.whole(), |start| start..start + written.len());
                let message =
                    format!("`{written}` looks like a pattern, but = and != compare literal text");
                let finding = asked.finding(&RULE, Severity::Warning, part, message);
                finding.help("use =~ or !~ to match a pattern")
            })
        })
        .collect()
}
