//! Graph construction: combines the updates that releases declare with graph-data.
//!
//! The order matters: metadata and channels are written to the nodes, edges are added, cycles are
//! cut, and only then are edges blocked. So no added edge can bypass a block.

mod blockers;
mod cycles;

pub use blockers::{EdgeBlocker, EdgeSources};

use std::collections::BTreeSet;

use fairway_api::Version;

use crate::data::{Channel, GraphData, RawMetadata};
use crate::graph::{Edge, Graph, Node, NodeId, Parts, indexes_of_version, key, with_architecture};
use crate::problem::GraphProblem;
use crate::risk::RiskSetId;
use blockers::EdgeBlockers;

/// A graph with the metadata and channels of graph-data, before edges are blocked.
#[derive(Debug)]
pub struct GraphBuilder<'a> {
    graph: Graph,
    blockers: EdgeBlockers<'a>,
    problems: Vec<GraphProblem>,
}

/// Builds the graph that the update service serves.
pub fn build(declared: Graph, data: &GraphData) -> (Graph, Vec<GraphProblem>) {
    GraphBuilder::new(declared, data).finish()
}

impl<'a> GraphBuilder<'a> {
    /// Applies metadata, channels and added edges of graph-data to declared releases, and cuts
    /// cycles.
    pub fn new(declared: Graph, data: &'a GraphData) -> Self {
        let mut problems = Vec::new();
        let mut parts = Parts::from(declared);
        add_raw_metadata(&mut parts.nodes, &data.raw);
        add_channels(&mut parts.nodes, &data.channels);
        let graph = add_edges(parts.assemble(), &mut problems);
        let graph = cycles::cut(graph, &mut problems);
        let blockers = EdgeBlockers::new(&graph, data, &mut problems);
        Self { graph, blockers, problems }
    }

    /// The graph before edges are blocked.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Problems found so far.
    pub fn problems(&self) -> &[GraphProblem] {
        &self.problems
    }

    /// The rules that block an edge.
    pub fn blocking(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = &EdgeBlocker<'a>> {
        self.blockers.blocking(from, to)
    }

    /// Blocks edges and returns the final graph with all problems.
    pub fn finish(self) -> (Graph, Vec<GraphProblem>) {
        let Self { graph, blockers, mut problems } = self;
        let graph = blockers.apply(graph);
        problems.extend(graph.risk_sets.problems());
        (graph, problems)
    }
}

/// Adds the edges of `previous.add` and `next.add` in metadata. References to unknown versions are
/// ignored and reported.
fn add_edges(graph: Graph, problems: &mut Vec<GraphProblem>) -> Graph {
    let mut added = Vec::new();
    for (id, node) in graph.node_ids() {
        for from in references(&graph, node, key::PREVIOUS_ADD, problems) {
            added.push((from, id));
        }
        for to in references(&graph, node, key::NEXT_ADD, problems) {
            added.push((id, to));
        }
    }
    added.retain(|(from, to)| graph.edge(*from, *to).is_none());
    if added.is_empty() {
        return graph;
    }
    let mut parts = Parts::from(graph);
    let edge = |(from, to): (NodeId, NodeId)| Edge { from, to, risks: RiskSetId::NONE };
    parts.edges.extend(added.into_iter().map(edge));
    parts.assemble()
}

/// Adds the entries of `raw/metadata.json` to releases. A value for an existing key is appended
/// with a comma.
fn add_raw_metadata(nodes: &mut [Node], raw: &RawMetadata) {
    for (version, metadata) in &raw.0 {
        for index in indexes_of_version(nodes, version) {
            let Some(release) = &mut nodes[index].release else { continue };
            for (key, text) in metadata {
                let known = release.metadata.entry(key.clone()).or_default();
                if !known.is_empty() {
                    known.push(',');
                }
                known.push_str(text);
            }
        }
    }
}

/// Adds the channels of every release to its metadata.
fn add_channels(nodes: &mut [Node], channels: &[Channel]) {
    let mut of_nodes: Vec<BTreeSet<(&str, &str)>> = vec![BTreeSet::new(); nodes.len()];
    for channel in channels {
        for listed in &channel.versions {
            for index in indexes_of_version(nodes, &listed.version) {
                of_nodes[index].insert(channel_order(&channel.name));
            }
        }
    }
    for (node, added) in nodes.iter_mut().zip(of_nodes) {
        let own: Vec<String> = node.channels().map(str::to_owned).collect();
        let Some(release) = node.release.as_mut().filter(|_| !added.is_empty()) else { continue };
        let all: BTreeSet<_> =
            added.into_iter().chain(own.iter().map(|name| channel_order(name))).collect();
        let version_strings: Vec<&str> = all.into_iter().map(|(_, name)| name).collect();
        release.metadata.insert(key::CHANNELS.to_owned(), version_strings.join(","));
    }
}

/// Sort key of a channel: its stream (the part after the first hyphen), then its name.
fn channel_order(name: &str) -> (&str, &str) {
    (name.split_once('-').map_or("", |(_, stream)| stream), name)
}

/// The nodes that a metadata list references. They have the architecture of the release.
fn references(
    graph: &Graph,
    node: &Node,
    key: &str,
    problems: &mut Vec<GraphProblem>,
) -> Vec<NodeId> {
    let mut named = Vec::new();
    for text in node.list(key) {
        let (version, key, text) = (node.version.to_string(), key.to_owned(), text.to_owned());
        let Ok(reference) = Version::parse(&text) else {
            problems.push(GraphProblem::BadReference { version, key, text });
            continue;
        };
        let before = named.len();
        named.extend(referenced_node(graph, node, &reference));
        if named.len() == before {
            problems.push(GraphProblem::UnknownReference { version, key, named: text });
        }
    }
    named
}

fn referenced_node(graph: &Graph, node: &Node, reference: &Version) -> Option<NodeId> {
    let wanted = match node.architectures().next() {
        Some(architecture) => with_architecture(reference, architecture),
        None => reference.clone(),
    };
    let same = |id: &NodeId| graph.node(*id).version.build() == wanted.build();
    graph.find(&wanted).find(same)
}
