//! Blocked edges of graph-data, and edges that metadata of releases removes.
//!
//! This module alone decides whether an edge is blocked. Everything that blocks an edge is stored
//! with the target node of the edge, and all of it takes effect.

use std::collections::HashMap;
use std::sync::Arc;

use super::references;
use crate::data::{BlockedEdge, BlockedEdgeEffect, GraphData, VersionPattern};
use crate::graph::{ARCHITECTURES, Graph, Node, NodeId, Parts, key};
use crate::problem::GraphProblem;
use crate::risk::{RiskId, RiskSets};

/// A rule that removes edges to one node or makes them conditional.
#[derive(Clone, Debug)]
pub enum EdgeBlocker<'a> {
    /// Metadata of a release removes the edges.
    Metadata {
        /// Release with the metadata.
        release: NodeId,
        /// Key in the metadata.
        key: &'static str,
        /// Sources of the removed edges.
        from: EdgeSources,
    },
    /// A file in `blocked-edges` removes the edges or adds a risk to them.
    Block(&'a BlockedEdge),
}

/// Sources of edges.
#[derive(Clone, Debug)]
pub enum EdgeSources {
    /// One node.
    Node(NodeId),
    /// All versions that match a pattern.
    Matching(Arc<VersionPattern>),
}

/// All rules that block edges, by target node.
#[derive(Debug)]
pub(super) struct EdgeBlockers<'a> {
    by_target: Vec<Vec<EdgeBlocker<'a>>>,
    /// For every node, the version strings to which patterns are applied.
    version_strings: Vec<Vec<String>>,
}

impl<'a> EdgeBlockers<'a> {
    pub(super) fn new(
        graph: &Graph,
        data: &'a GraphData,
        problems: &mut Vec<GraphProblem>,
    ) -> Self {
        let mut by_target = vec![Vec::new(); graph.nodes().len()];
        for (id, node) in graph.node_ids() {
            for (target, from, key) in removals(graph, id, node, problems) {
                by_target[target.index()].push(EdgeBlocker::Metadata { release: id, key, from });
            }
        }
        for block in &data.blocks {
            for target in graph.find(&block.to) {
                by_target[target.index()].push(EdgeBlocker::Block(block));
            }
        }
        Self { by_target, version_strings: graph.nodes().iter().map(version_strings).collect() }
    }

    /// The rules that block one edge.
    pub(super) fn blocking(
        &self,
        from: NodeId,
        to: NodeId,
    ) -> impl Iterator<Item = &EdgeBlocker<'a>> {
        self.by_target[to.index()].iter().filter(move |blocker| match blocker {
            EdgeBlocker::Metadata { from: EdgeSources::Node(node), .. } => *node == from,
            EdgeBlocker::Metadata { from: EdgeSources::Matching(pattern), .. } => {
                self.matches(pattern, from)
            }
            EdgeBlocker::Block(block) => self.matches(&block.from, from),
        })
    }

    fn matches(&self, pattern: &VersionPattern, node: NodeId) -> bool {
        self.version_strings[node.index()].iter().any(|name| pattern.matches(name))
    }

    /// Removes the edges that are blocked for all clusters, and adds risks to conditional edges.
    pub(super) fn apply(&self, graph: Graph) -> Graph {
        let mut parts = Parts::from(graph);
        let Parts { edges, risk_sets, .. } = &mut parts;
        let risks_by_file = self.risks_by_file(risk_sets);
        let mut risks = Vec::new();
        edges.retain_mut(|edge| {
            risks.clear();
            for blocker in self.blocking(edge.from, edge.to) {
                let risk = match blocker {
                    EdgeBlocker::Block(block) => risks_by_file.get(block.file.as_str()),
                    EdgeBlocker::Metadata { .. } => None,
                };
                let Some(risk) = risk else { return false };
                risks.push(*risk);
            }
            risks.extend_from_slice(risk_sets.members(edge.risks));
            edge.risks = risk_sets.set(&mut risks);
            true
        });
        parts.assemble()
    }

    /// The risks of conditional blocked edges, by file.
    fn risks_by_file(&self, risk_sets: &mut RiskSets) -> HashMap<&'a str, RiskId> {
        let mut risks = HashMap::new();
        for blocker in self.by_target.iter().flatten() {
            if let EdgeBlocker::Block(BlockedEdge {
                file,
                effect: BlockedEdgeEffect::Risks(risk),
                ..
            }) = blocker
            {
                risks.entry(file.as_str()).or_insert_with(|| risk_sets.risk(risk));
            }
        }
        risks
    }
}

/// The version strings to which patterns are applied: the version with its architecture.
///
/// A version without an architecture, as in a response for one architecture, gets one string for
/// every possible architecture, so that no block misses it.
fn version_strings(node: &Node) -> Vec<String> {
    let version = node.version.to_string();
    if !node.version.build().is_empty() {
        return vec![version];
    }
    let known: Vec<String> = node.architectures().map(|name| format!("{version}+{name}")).collect();
    if !known.is_empty() {
        return known;
    }
    let possible = ARCHITECTURES.iter().map(|name| format!("{version}+{name}"));
    possible.chain([version.clone()]).collect()
}

type Removal = (NodeId, EdgeSources, &'static str);

/// The edges that the metadata of a release removes: target, sources and metadata key.
fn removals(
    graph: &Graph,
    id: NodeId,
    node: &Node,
    problems: &mut Vec<GraphProblem>,
) -> Vec<Removal> {
    let everything = || EdgeSources::Matching(Arc::new(VersionPattern::everything("*")));
    let mut removals = Vec::new();
    if node.list(key::PREVIOUS_REMOVE).any(|entry| entry == "*") {
        removals.push((id, everything(), key::PREVIOUS_REMOVE));
    } else {
        for from in references(graph, node, key::PREVIOUS_REMOVE, problems) {
            removals.push((id, EdgeSources::Node(from), key::PREVIOUS_REMOVE));
        }
    }
    if let Some(text) = node.metadata(key::PREVIOUS_REMOVE_REGEX) {
        let pattern = VersionPattern::parse(text).unwrap_or_else(|why| {
            problems.push(GraphProblem::BadExpression { version: node.version.to_string(), why });
            VersionPattern::everything(text)
        });
        removals.push((id, EdgeSources::Matching(Arc::new(pattern)), key::PREVIOUS_REMOVE_REGEX));
    }
    if node.list(key::NEXT_REMOVE).any(|entry| entry == "*") {
        for edge in graph.edges_from(id) {
            removals.push((edge.to, EdgeSources::Node(id), key::NEXT_REMOVE));
        }
    } else {
        for to in references(graph, node, key::NEXT_REMOVE, problems) {
            removals.push((to, EdgeSources::Node(id), key::NEXT_REMOVE));
        }
    }
    removals
}
