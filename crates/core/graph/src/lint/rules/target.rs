//! Blocks of updates to versions that do not exist.

use super::{Context, Finding, Rule};
use crate::data::Severity;

pub(super) static RULE: Rule =
    Rule { id: "unknown-target", summary: "Blocked edge to a version that does not exist" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let unknown = context.data.blocks.iter().filter(|block| !context.versions.has(&block.to));
    unknown
        .filter_map(|block| {
            let source = context.source(&block.file)?;
            let span = source.tree.get("to")?.span.clone();
            let message = if context.versions.are_declared() {
                format!("release {} does not exist", block.to)
            } else {
                format!("{} is in no channel", block.to)
            };
            Some(source.finding(&RULE, Severity::Warning, span, message))
        })
        .collect()
}
