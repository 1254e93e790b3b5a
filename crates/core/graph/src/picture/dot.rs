//! A picture for Graphviz.

use std::fmt::Write as _;

use super::essential;
use super::layout::Layout;
use super::style::{self, Standing, standings};
use crate::graph::Graph;

/// Draws a graph in the language of Graphviz.
pub fn dot(graph: &Graph, title: &str) -> String {
    let mut out = format!(
        "digraph {} {{\n  label={0};\n  labelloc=t;\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n",
        quoted(title)
    );
    let standings = standings(graph);
    // Writing to memory cannot fail.
    for (number, lane) in Layout::new(graph).lanes.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={};", quoted(&lane.name));
        for id in &lane.nodes {
            let (shape, colour) = match standings[id.index()] {
                Standing::Open => ("ellipse", style::RECOMMENDED),
                Standing::Conditional => ("diamond", style::CONDITIONAL),
                Standing::Closed => ("box", style::CLOSED),
            };
            let border = if style::is_stranded(graph, *id) { " peripheries=2" } else { "" };
            let version = quoted(&graph.node(*id).version.to_string());
            let _ = writeln!(out, "    {version} [shape={shape} color=\"{colour}\"{border}];");
        }
        out.push_str("  }\n");
    }
    for edge in essential(graph) {
        let version = |id| quoted(&graph.node(id).version.to_string());
        let risks: Vec<&str> = graph.risks(edge).map(|risk| risk.name.as_str()).collect();
        let look = match risks.as_slice() {
            [] => format!("color=\"{}\"", style::RECOMMENDED),
            risks => format!(
                "color=\"{}\" style=dashed tooltip={}",
                style::CONDITIONAL,
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
