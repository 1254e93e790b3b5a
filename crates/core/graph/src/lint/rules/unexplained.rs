//! Blocks that do not say why.

use super::{Context, Finding, Rule};
use crate::data::Severity;

pub(super) static RULE: Rule = Rule {
    id: "unexplained",
    summary: "Blocked edge without a risk: the update is removed without an explanation",
};

const REASONS: [&str; 4] = ["url", "name", "message", "matchingRules"];

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    context
        .blocks
        .iter()
        .filter(|source| REASONS.iter().all(|reason| source.tree.get(reason).is_none()))
        .filter_map(|source| {
            let to = source.tree.get("to")?;
            let message = "this removes the update from clusters without an explanation";
            let finding = source.finding(&RULE, Severity::Warning, to.span.clone(), message);
            Some(finding.help("set `url`, `name`, `message` and `matchingRules`"))
        })
        .collect()
}
