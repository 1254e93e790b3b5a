//! Queries that Prometheus would refuse, and rules that no cluster can evaluate.

use super::{Context, Finding, Rule};
use crate::data::Severity;
use crate::lint::queries;
use crate::lint::source::Source;
use crate::lint::tree::{Tree, Value};

pub(super) static RULE: Rule =
    Rule { id: "promql", summary: "Matching rule that clusters cannot evaluate" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let unreadable = context.queries.iter().filter_map(|asked| {
        let error = asked.parsed.as_ref().err()?;
        let message = error.problem.to_string();
        Some(asked.finding(&RULE, Severity::Error, error.span.clone(), message))
    });
    let blocks = context.blocks.iter();
    let rules =
        blocks.flat_map(|source| queries::rules(source).iter().map(move |rule| (source, rule)));
    let wrong = rules.filter_map(|(source, rule)| wrong_rule(source, rule));
    unreadable.chain(wrong).collect()
}

fn wrong_rule(source: &Source<'_>, rule: &Tree) -> Option<Finding> {
    let kind = rule.get("type")?;
    let query = queries::query(rule);
    let (severity, span, message) = match kind.text()? {
        "PromQL" => match query {
            None => {
                (Severity::Error, kind.span.clone(), "rules of this type require `promql.promql`")
            }
            Some(query) if !matches!(query.value, Value::Text(_)) => {
                (Severity::Error, query.span.clone(), "the query must be a string")
            }
            Some(_) => return None,
        },
        "Always" if query.is_some() => {
            (Severity::Warning, kind.span.clone(), "rules of this type have no query")
        }
        "Always" => return None,
        _ => (Severity::Note, kind.span.clone(), "unknown type; clusters skip the rule"),
    };
    Some(source.finding(&RULE, severity, span, message))
}
