//! One name, several meanings. Clusters accept risks by name, and know one text for each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Context, Finding, Rule};
use crate::data::{Block, Effect, Severity};
use crate::risk::Risk;

pub(super) static RULE: Rule =
    Rule { id: "ambiguous-name", summary: "Different risks with the same name" };

/// A meaning of a name, and the blocks that have it.
struct Meaning<'a> {
    risk: &'a Arc<Risk>,
    blocks: Vec<&'a Block>,
}

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut by_name: BTreeMap<&str, Vec<Meaning<'_>>> = BTreeMap::new();
    for block in &context.data.blocks {
        let Effect::Risks(risk) = &block.effect else { continue };
        let meanings = by_name.entry(&risk.name).or_default();
        match meanings.iter_mut().find(|meaning| meaning.risk == risk) {
            Some(meaning) => meaning.blocks.push(block),
            None => meanings.push(Meaning { risk, blocks: vec![block] }),
        }
    }
    by_name.into_values().flat_map(|meanings| ambiguities(context, meanings)).collect()
}

/// What most blocks say is taken for what is meant.
fn ambiguities(context: &Context<'_>, mut meanings: Vec<Meaning<'_>>) -> Vec<Finding> {
    meanings.sort_by_key(|meaning| std::cmp::Reverse(meaning.blocks.len()));
    let Some((usual, others)) = meanings.split_first() else { return Vec::new() };
    others.iter().filter_map(|other| ambiguity(context, usual, other)).collect()
}

fn ambiguity(context: &Context<'_>, usual: &Meaning<'_>, other: &Meaning<'_>) -> Option<Finding> {
    let [first, rest @ ..] = other.blocks.as_slice() else { return None };
    let key = difference(usual.risk, other.risk);
    let file = &usual.blocks.first()?.file;
    let message = format!("{} has a different `{key}` in {file}", usual.risk.name);
    let source = context.source(&first.file)?;
    let (written, _) = source.tree.entry(key).or_else(|| source.tree.entry("name"))?;
    let finding = source.finding(&RULE, Severity::Error, written.span.clone(), message);
    let help = "rename one of the risks, or use the same content in both files";
    let also = rest.iter().map(|block| block.file.clone()).collect();
    Some(finding.help(help).also(also))
}

fn difference(one: &Risk, other: &Risk) -> &'static str {
    if one.url != other.url {
        "url"
    } else if one.message != other.message {
        "message"
    } else {
        "matchingRules"
    }
}
