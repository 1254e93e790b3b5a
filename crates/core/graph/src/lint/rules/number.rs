//! Versions that YAML reads as numbers: 4.10 is 4.1.

use super::{Context, Finding, Rule};
use crate::data::Severity;
use crate::lint::source::Source;
use crate::lint::tree::{Tree, Value};

pub(super) static RULE: Rule =
    Rule { id: "number", summary: "An unquoted number where a string is expected" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let sources = context.blocks.iter().chain(&context.channels);
    sources.flat_map(|source| numbers(source, &source.tree)).collect()
}

fn numbers(source: &Source<'_>, tree: &Tree) -> Vec<Finding> {
    match &tree.value {
        Value::Number => vec![number(source, tree)],
        Value::List(items) => items.iter().flat_map(|item| numbers(source, item)).collect(),
        Value::Map(entries) => {
            // A rule of an unknown type may hold whatever that type wants.
            let known = entries.iter().filter(|(key, _)| key.name != "matchingRules");
            known.flat_map(|(_, value)| numbers(source, value)).collect()
        }
        Value::Constant | Value::Text(_) => Vec::new(),
    }
}

fn number(source: &Source<'_>, tree: &Tree) -> Finding {
    let written = source.written(tree);
    let (severity, message) = match written.parse::<f64>() {
        Ok(read) if written.contains('.') && read.to_string() != written => {
            (Severity::Error, format!("{written} without quotes is a number and is read as {read}"))
        }
        _ => (Severity::Warning, format!("{written} without quotes is a number, not a string")),
    };
    let finding = source.finding(&RULE, severity, tree.span.clone(), message);
    finding.help(format!("write '{written}'"))
}
