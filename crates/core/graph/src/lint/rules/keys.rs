//! Keys that nobody reads: most of them are misspelt.

use super::{Context, Finding, Rule};
use crate::data::Severity;
use crate::lint::queries;
use crate::lint::source::Source;
use crate::lint::tree::Tree;

pub(super) static RULE: Rule = Rule { id: "unknown-key", summary: "Unknown key" };

const BLOCK: [&str; 8] =
    ["to", "from", "url", "name", "message", "matchingRules", "fixedIn", "autoExtend"];
const MATCHING_RULE: [&str; 3] = ["type", "promql", "PromQL"];
const PROMQL: [&str; 2] = ["promql", "PromQL"];
const CHANNEL: [&str; 4] = ["name", "versions", "tombstones", "feeder"];
const FEEDER: [&str; 4] = ["name", "delay", "errata", "filter"];

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let blocks = context.blocks.iter().flat_map(|source| {
        let promql = queries::rules(source)
            .iter()
            .filter(|rule| rule.get("type").and_then(Tree::text) == Some("PromQL"));
        let inner = promql.clone().filter_map(|rule| rule.get("promql"));
        let mut found = unknown(source, &source.tree, &BLOCK);
        found.extend(promql.flat_map(|rule| unknown(source, rule, &MATCHING_RULE)));
        found.extend(inner.flat_map(|tree| unknown(source, tree, &PROMQL)));
        found
    });
    let channels = context.channels.iter().flat_map(|source| {
        let mut found = unknown(source, &source.tree, &CHANNEL);
        found.extend(
            source.tree.get("feeder").iter().flat_map(|tree| unknown(source, tree, &FEEDER)),
        );
        found
    });
    blocks.chain(channels).collect()
}

fn unknown(source: &Source<'_>, tree: &Tree, known: &[&str]) -> Vec<Finding> {
    let keys = tree.entries().iter().map(|(key, _)| key);
    keys.filter(|key| !known.contains(&key.name.as_str()))
        .map(|key| {
            let message = format!("unknown key `{}`", key.name);
            let finding = source.finding(&RULE, Severity::Warning, key.span.clone(), message);
            match known.iter().find(|known| is_similar(known, &key.name)) {
                Some(meant) => finding.help(format!("did you mean `{meant}`?")),
                None => finding,
            }
        })
        .collect()
}

/// The same letters, whatever their case and what separates them; or all but one letter at the end.
fn is_similar(one: &str, other: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (one, other) = (letters(one), letters(other));
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    long.starts_with(&short) && long.len() - short.len() <= 1
}
