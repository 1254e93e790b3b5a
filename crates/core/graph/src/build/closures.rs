//! What closes edges: blocks of graph-data, and metadata that removes.
//!
//! This is the one place that decides whether an edge stays open. Everything that closes an edge
//! is kept by the node that the edge leads to, and all of it counts.

use std::collections::HashMap;
use std::sync::Arc;

use super::references::references;
use crate::data::{Block, Effect, GraphData, Pattern};
use crate::graph::{Graph, Node, NodeId, Parts, key};
use crate::problem::Problem;
use crate::risk::{RiskId, RiskSets};

/// Something that closes edges which lead to one node.
#[derive(Clone, Debug)]
pub enum Closure<'a> {
    /// Metadata removes them.
    Metadata {
        /// The release whose metadata it is.
        release: NodeId,
        /// The key.
        key: &'static str,
        /// Where the edges come from.
        from: Sources,
    },
    /// A block closes them.
    Block(&'a Block),
}

/// Where the edges come from.
#[derive(Clone, Debug)]
pub enum Sources {
    /// From one node.
    Node(NodeId),
    /// From versions that match.
    Matching(Arc<Pattern>),
}

/// Everything that closes edges, by the node that they lead to.
#[derive(Debug)]
pub(super) struct Closures<'a> {
    by_target: Vec<Vec<Closure<'a>>>,
    /// What patterns know the nodes by.
    names: Vec<Vec<String>>,
}

/// The architectures that a version may be of where it does not say.
const ARCHITECTURES: [&str; 5] = ["amd64", "arm64", "multi", "ppc64le", "s390x"];

impl<'a> Closures<'a> {
    pub(super) fn new(graph: &Graph, data: &'a GraphData, problems: &mut Vec<Problem>) -> Self {
        let mut by_target = vec![Vec::new(); graph.nodes().len()];
        for (id, node) in graph.node_ids() {
            for (target, from, key) in removals(graph, id, node, problems) {
                by_target[target.index()].push(Closure::Metadata { release: id, key, from });
            }
        }
        for block in &data.blocks {
            for target in graph.find(&block.to) {
                by_target[target.index()].push(Closure::Block(block));
            }
        }
        Self { by_target, names: graph.nodes().iter().map(names).collect() }
    }

    /// What closes an edge.
    pub(super) fn of(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = &Closure<'a>> {
        self.by_target[to.index()].iter().filter(move |closure| match closure {
            Closure::Metadata { from: Sources::Node(node), .. } => *node == from,
            Closure::Metadata { from: Sources::Matching(pattern), .. } => {
                self.matches(pattern, from)
            }
            Closure::Block(block) => self.matches(&block.from, from),
        })
    }

    fn matches(&self, pattern: &Pattern, node: NodeId) -> bool {
        self.names[node.index()].iter().any(|name| pattern.matches(name))
    }

    /// The graph without the edges that are closed for everybody, and with the risks of those that
    /// are closed for some.
    pub(super) fn close(&self, graph: Graph) -> Graph {
        let mut parts = Parts::from(graph);
        let Parts { edges, risk_sets, .. } = &mut parts;
        let of_blocks = self.risks_of_blocks(risk_sets);
        let mut risks = Vec::new();
        edges.retain_mut(|edge| {
            risks.clear();
            for closure in self.of(edge.from, edge.to) {
                let risk = match closure {
                    Closure::Block(block) => of_blocks.get(block.file.as_str()),
                    Closure::Metadata { .. } => None,
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

    /// The risks of blocks that have one, by their files.
    fn risks_of_blocks(&self, risk_sets: &mut RiskSets) -> HashMap<&'a str, RiskId> {
        let mut risks = HashMap::new();
        for closure in self.by_target.iter().flatten() {
            if let Closure::Block(Block { file, effect: Effect::Risks(risk), .. }) = closure {
                risks.entry(file.as_str()).or_insert_with(|| risk_sets.risk(risk));
            }
        }
        risks
    }
}

/// The version with its architecture. One that does not say it, as in an answer that was already
/// made for one architecture, goes by every name that it may have: no block may miss it.
fn names(node: &Node) -> Vec<String> {
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

type Removal = (NodeId, Sources, &'static str);

/// What the metadata of a release removes: where the edges lead, where they come from, and the key.
fn removals(graph: &Graph, id: NodeId, node: &Node, problems: &mut Vec<Problem>) -> Vec<Removal> {
    let everything = || Sources::Matching(Arc::new(Pattern::everything("*")));
    let mut removals = Vec::new();
    if node.list(key::PREVIOUS_REMOVE).any(|entry| entry == "*") {
        removals.push((id, everything(), key::PREVIOUS_REMOVE));
    } else {
        for from in references(graph, node, key::PREVIOUS_REMOVE, problems) {
            removals.push((id, Sources::Node(from), key::PREVIOUS_REMOVE));
        }
    }
    if let Some(text) = node.metadata(key::PREVIOUS_REMOVE_REGEX) {
        let pattern = Pattern::parse(text).unwrap_or_else(|why| {
            problems.push(Problem::BadExpression { version: node.version.to_string(), why });
            Pattern::everything(text)
        });
        removals.push((id, Sources::Matching(Arc::new(pattern)), key::PREVIOUS_REMOVE_REGEX));
    }
    if node.list(key::NEXT_REMOVE).any(|entry| entry == "*") {
        for edge in graph.edges_from(id) {
            removals.push((edge.to, Sources::Node(id), key::NEXT_REMOVE));
        }
    } else {
        for to in references(graph, node, key::NEXT_REMOVE, problems) {
            removals.push((to, Sources::Node(id), key::NEXT_REMOVE));
        }
    }
    removals
}
