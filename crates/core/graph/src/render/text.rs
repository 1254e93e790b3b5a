//! Text formats: Graphviz, and an overview for terminals.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::layout::Layout;
use super::{
    CONDITIONAL_COLOUR, RECOMMENDED_COLOUR, Reachability, Summary, UNREACHABLE_COLOUR, essential,
    is_stranded, reachability,
};
use crate::graph::{Graph, NodeId};
use crate::risk::RiskSetId;

/// Renders a graph in the DOT language of Graphviz.
pub fn dot(graph: &Graph, title: &str) -> String {
    let mut out = format!(
        "digraph {} {{\n  label={0};\n  labelloc=t;\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n",
        quoted(title)
    );
    let reachability = reachability(graph);
    // Writing to a `String` cannot fail.
    for (number, row) in Layout::new(graph).rows.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={};", quoted(&row.name));
        for id in &row.nodes {
            let (shape, colour) = match reachability[id.index()] {
                Reachability::Recommended => ("ellipse", RECOMMENDED_COLOUR),
                Reachability::Conditional => ("diamond", CONDITIONAL_COLOUR),
                Reachability::Unreachable => ("box", UNREACHABLE_COLOUR),
            };
            let border = if is_stranded(graph, *id) { " peripheries=2" } else { "" };
            let version = quoted(&graph.node(*id).version.to_string());
            let _ = writeln!(out, "    {version} [shape={shape} color=\"{colour}\"{border}];");
        }
        out.push_str("  }\n");
    }
    for edge in essential(graph) {
        let version = |id| quoted(&graph.node(id).version.to_string());
        let risks: Vec<&str> = graph.risks(edge).map(|risk| risk.name.as_str()).collect();
        let look = match risks.as_slice() {
            [] => format!("color=\"{RECOMMENDED_COLOUR}\""),
            risks => format!(
                "color=\"{}\" style=dashed tooltip={}",
                CONDITIONAL_COLOUR,
                quoted(&risks.join(", "))
            ),
        };
        let _ = writeln!(out, "  {} -> {} [{look}];", version(edge.from), version(edge.to));
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Renders a graph as text: every release with the sources of its updates.
pub fn text(graph: &Graph, title: &str) -> String {
    let mut out = format!("{title}\n{}\n", Summary::new(graph));
    let incoming = graph.incoming();
    for row in Layout::new(graph).rows {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "\n{}", row.name);
        for id in row.nodes {
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

/// Versions, with consecutive ones shortened to a range.
fn runs(graph: &Graph, sources: &[NodeId]) -> String {
    let version = |id: &NodeId| &graph.node(*id).version;
    let runs = sources.chunk_by(|one, next| one.index() + 1 == next.index());
    let texts = runs.map(|run| match run {
        [first, _, .., last] => format!("{} … {}", version(first), version(last)),
        few => few.iter().map(|id| version(id).to_string()).collect::<Vec<_>>().join(", "),
    });
    texts.collect::<Vec<_>>().join(", ")
}
