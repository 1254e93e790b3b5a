//! Versions without a way out once every conditional update is closed.

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::Version;

use super::{Context, Finding, Rule};
use crate::build::Draft;
use crate::data::Severity;
use crate::graph::Edge;

pub(super) static RULE: Rule = Rule {
    id: "stranded",
    summary: "Version in a channel without an unconditional update to a later version",
};

/// Where a version has no way out that is open to every cluster.
#[derive(Default)]
struct Stranded<'a> {
    channels: BTreeSet<&'a str>,
    /// Whether there is one for some clusters.
    has_conditional: bool,
}

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let Some(declared) = context.declared else { return Vec::new() };
    let draft = Draft::new(declared.clone(), context.data);
    let open = draft.graph().clone();
    let (closed, _) = draft.finish();
    let channels: Vec<BTreeSet<&str>> =
        closed.nodes().iter().map(|node| node.channels().collect()).collect();
    let reached = |edges: &mut dyn Iterator<Item = &Edge>| -> BTreeSet<&str> {
        edges.flat_map(|edge| channels[edge.to.index()].iter().copied()).collect()
    };
    let mut stranded: BTreeMap<Version, Stranded<'_>> = BTreeMap::new();
    for (id, node) in closed.node_ids() {
        let before = reached(&mut open.edges_from(id).iter());
        let edges = closed.edges_from(id).iter();
        let certain = reached(&mut edges.clone().filter(|edge| !edge.is_conditional()));
        let without = &(&channels[id.index()] & &before) - &certain;
        if !without.is_empty() {
            let found = stranded.entry(node.version.without_build()).or_default();
            found.has_conditional |= !reached(&mut edges.clone()).is_disjoint(&without);
            found.channels.extend(without);
        }
    }
    stranded.iter().filter_map(|(version, stranded)| finding(context, version, stranded)).collect()
}

fn finding(context: &Context<'_>, version: &Version, stranded: &Stranded<'_>) -> Option<Finding> {
    let channel = stranded.channels.first()?;
    let channel = context.data.channels.iter().find(|found| found.name == **channel)?;
    let listed = channel.versions.iter().find(|listed| listed.version == *version)?;
    let source = context.source(&channel.file)?;
    let span = source.item("versions", &listed.version.to_string())?;
    let channels: Vec<&str> = stranded.channels.iter().copied().collect();
    let (severity, message) = if stranded.has_conditional {
        (Severity::Note, "all updates from this version are conditional")
    } else {
        (Severity::Warning, "all updates from this version are blocked")
    };
    let message = format!("{message}: {version} in {}", channels.join(", "));
    Some(source.finding(&RULE, severity, span, message).about(version.to_string()))
}
