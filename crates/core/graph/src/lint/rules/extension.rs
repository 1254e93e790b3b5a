//! Risks that end without having been fixed.
//!
//! A risk that concerns a release concerns the ones after it too, until it is fixed. Whoever adds a
//! release has to repeat its blocks; whoever fixes the problem says so with `fixedIn`.

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::Version;

use super::{Context, Finding, Rule};
use crate::data::{Block, Effect, Severity};

pub(super) static RULE: Rule = Rule {
    id: "not-extended",
    summary: "A risk is not extended to the next version and not marked as fixed",
};

/// The blocks of one risk with targets in one minor version.
type Stream<'a> = ((&'a str, u64, u64), Vec<&'a Block>);

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut streams: BTreeMap<(&str, u64, u64), Vec<&Block>> = BTreeMap::new();
    for block in &context.data.blocks {
        let Effect::Risks(risk) = &block.effect else { continue };
        // A name that stands in for a missing one cannot be repeated.
        if context.source(&block.file).is_none_or(|source| source.tree.get("name").is_none()) {
            continue;
        }
        let (major, minor) = (block.to.major(), block.to.minor());
        streams.entry((&risk.name, major, minor)).or_default().push(block);
    }
    streams.into_iter().filter_map(|stream| end(context, &stream)).collect()
}

fn end(context: &Context<'_>, (key, blocks): &Stream<'_>) -> Option<Finding> {
    if blocks.iter().any(|block| block.fixed_in.is_some()) {
        return None;
    }
    let targets: BTreeSet<Version> = blocks.iter().map(|block| block.to.without_build()).collect();
    let (first, last) = (targets.first()?, targets.last()?);
    let later = context.versions.known.range(first.clone()..).filter(|version| {
        (version.major(), version.minor()) == (key.1, key.2) && is_alike(version, last)
    });
    let missing: Vec<&Version> = later.filter(|version| !targets.contains(version)).collect();
    let forgotten = missing.first()?;
    let before = targets.range(..(*forgotten).clone()).next_back()?;
    let block = blocks.iter().find(|block| block.to == *before)?;
    let others = match missing.len() - 1 {
        0 => String::new(),
        1 => " and 1 more".to_owned(),
        others => format!(" and {others} more"),
    };
    let message = format!("{} covers {before}, but not {forgotten}{others}", key.0);
    let source = context.source(&block.file)?;
    let span = source.tree.get("to")?.span.clone();
    let finding = source.finding(&RULE, Severity::Warning, span, message).about(key.0);
    Some(finding.help(format!("add a blocked edge for {forgotten}, or set `fixedIn: {forgotten}`")))
}

/// Risks of pre-releases end with the release.
fn is_alike(version: &Version, last: &Version) -> bool {
    version.pre_release().is_empty() == last.pre_release().is_empty()
}
