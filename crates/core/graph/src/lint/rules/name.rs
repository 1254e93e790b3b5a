//! Names of risks that are not CamelCase.

use std::sync::LazyLock;

use fairway_api::condition::REASON_PATTERN;
use regex::Regex;

use super::{Context, Finding, Rule};
use crate::data::Severity;
use crate::lint::tree::Tree;

pub(super) static RULE: Rule = Rule { id: "name", summary: "Risk name is not CamelCase" };

/// What the API accepts as a reason.
static REASON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(REASON_PATTERN).expect("the pattern is a constant"));

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let names = context.blocks.iter().filter_map(|source| Some((source, source.tree.get("name")?)));
    names
        .filter_map(|(source, name)| {
            let (severity, message) = problem(name)?;
            let finding = source.finding(&RULE, severity, name.span.clone(), message);
            Some(finding.help("use a name such as AuthOAuthProxyLeakedConnections"))
        })
        .collect()
}

fn problem(name: &Tree) -> Option<(Severity, String)> {
    let name = name.text().filter(|name| !name.is_empty() && !is_camel_case(name))?;
    if REASON.is_match(name) {
        return Some((Severity::Warning, format!("{name} is not CamelCase")));
    }
    Some((Severity::Error, format!("{name:?} is not CamelCase; the ClusterVersion API rejects it")))
}

fn is_camel_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric())
}
