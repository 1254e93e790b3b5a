//! A picture for terminals: every release, and where updates to it come from.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Summary;
use super::layout::{Layout, incoming};
use crate::graph::{Graph, NodeId};
use crate::risk::RiskSetId;

/// Draws a graph with letters.
pub fn text(graph: &Graph, title: &str) -> String {
    let mut out = format!("{title}\n{}\n", Summary::of(graph));
    let incoming = incoming(graph);
    for lane in Layout::new(graph).lanes {
        // Writing to memory cannot fail.
        let _ = writeln!(out, "\n{}", lane.name);
        for id in lane.nodes {
            release(&mut out, graph, id, &incoming[id.index()]);
        }
    }
    out
}

fn release(out: &mut String, graph: &Graph, to: NodeId, sources: &[NodeId]) {
    let mut by_risks: BTreeMap<RiskSetId, Vec<NodeId>> = BTreeMap::new();
    for from in sources {
        let risks = graph.edge(*from, to).map_or(RiskSetId::NONE, |edge| edge.risks);
        by_risks.entry(risks).or_default().push(*from);
    }
    let mut groups: Vec<(String, Vec<NodeId>)> = by_risks
        .into_iter()
        .map(|(risks, sources)| {
            let names: Vec<&str> =
                graph.risk_sets.risks(risks).map(|risk| risk.name.as_str()).collect();
            (names.join(", "), sources)
        })
        .collect();
    groups.sort();
    let version = &graph.node(to).version;
    let _ = write!(out, "  {version}");
    if groups.is_empty() {
        out.push_str("  no updates to this release");
    }
    out.push('\n');
    for (risks, sources) in groups {
        let sign = if risks.is_empty() { "<-" } else { "<?" };
        let _ = write!(out, "    {sign} {}", runs(graph, &sources));
        if !risks.is_empty() {
            let _ = write!(out, "  ({risks})");
        }
        out.push('\n');
    }
}

/// Versions, with those that follow each other as one.
fn runs(graph: &Graph, sources: &[NodeId]) -> String {
    let version = |id: &NodeId| &graph.node(*id).version;
    let runs = sources.chunk_by(|one, next| one.index() + 1 == next.index());
    let texts = runs.map(|run| match run {
        [first, _, .., last] => format!("{} … {}", version(first), version(last)),
        few => few.iter().map(|id| version(id).to_string()).collect::<Vec<_>>().join(", "),
    });
    texts.collect::<Vec<_>>().join(", ")
}
