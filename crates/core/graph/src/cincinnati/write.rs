//! Writer of Cincinnati JSON, for the whole graph or for an architecture and channel.

use std::collections::BTreeMap;

use fairway_api::UnknownFields;
use serde::Serialize;

use crate::graph::{Graph, Node, NodeId, Scope, key, without_architecture};
use crate::risk::RiskSetId;

/// Serializes a graph, or the part for one architecture.
///
/// Nodes and risks are serialized once, on creation. The responses for channels are assembled from
/// these parts.
#[derive(Debug)]
pub struct GraphSerializer<'a> {
    graph: &'a Graph,
    nodes: Vec<SerializedNode>,
    /// Indexes of the nodes in each channel.
    channels: BTreeMap<&'a str, Vec<usize>>,
    /// The risks of every set as a JSON array.
    risks: Vec<String>,
}

impl<'a> GraphSerializer<'a> {
    /// The whole graph. Versions contain their architectures.
    pub fn whole(graph: &'a Graph) -> Self {
        Self::new(
            graph,
            graph.node_ids().map(|(id, node)| SerializedNode::new(id, node, None)).collect(),
        )
    }

    /// The releases of one architecture and the updates between them.
    pub fn architecture(graph: &'a Graph, architecture: &str) -> Self {
        let scope = Scope { architecture: Some(architecture), channel: None };
        let shown = graph.node_ids().filter(|(_, node)| scope.contains(node));
        Self::new(
            graph,
            shown.map(|(id, node)| SerializedNode::new(id, node, Some(architecture))).collect(),
        )
    }

    fn new(graph: &'a Graph, nodes: Vec<SerializedNode>) -> Self {
        let mut channels: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            for channel in graph.node(node.node).channels() {
                channels.entry(channel).or_default().push(index);
            }
        }
        Self { graph, nodes, channels, risks: graph.risk_sets.json() }
    }

    /// Channels with at least one release, by name.
    pub fn channels(&self) -> impl Iterator<Item = &'a str> {
        self.channels.keys().copied()
    }

    /// The whole content as JSON.
    pub fn json(&self) -> Vec<u8> {
        self.response(&self.nodes.iter().collect::<Vec<_>>())
    }

    /// The releases of one channel and the updates between them as JSON. An unknown channel is
    /// empty.
    pub fn channel_json(&self, channel: &str) -> Vec<u8> {
        let indexes = self.channels.get(channel).map_or(&[][..], Vec::as_slice);
        self.response(&indexes.iter().map(|index| &self.nodes[*index]).collect::<Vec<_>>())
    }

    fn response(&self, nodes: &[&SerializedNode]) -> Vec<u8> {
        let (recommended, conditional) = self.edges_between(nodes);
        let mut out = b"{\"version\":1,\"nodes\":".to_vec();
        array(&mut out, nodes, |out, node| out.extend_from_slice(node.whole.as_bytes()));
        out.extend_from_slice(b",\"edges\":");
        array(&mut out, &recommended, |out, edge| json(out, &(edge.from, edge.to)));
        out.extend_from_slice(b",\"conditionalEdges\":");
        array(&mut out, &groups(&conditional), |out, group| self.group(out, group, nodes));
        for (key, value) in &self.graph.unknown {
            out.push(b',');
            json(&mut out, key);
            out.push(b':');
            json(&mut out, value);
        }
        out.push(b'}');
        out.shrink_to_fit();
        out
    }

    /// Edges between the nodes of a response: recommended ones, and conditional ones sorted by
    /// risks.
    fn edges_between(&self, nodes: &[&SerializedNode]) -> (Vec<ResponseEdge>, Vec<ResponseEdge>) {
        let mut places: Vec<Option<u32>> = vec![None; self.graph.nodes().len()];
        for (place, node) in (0..).zip(nodes) {
            places[node.node.index()] = Some(place);
        }
        let (mut recommended, mut conditional) = (Vec::new(), Vec::new());
        for (from, node) in (0..).zip(nodes) {
            for edge in self.graph.edges_from(node.node) {
                let Some(to) = places[edge.to.index()] else { continue };
                let edges = if edge.is_conditional() { &mut conditional } else { &mut recommended };
                edges.push(ResponseEdge { risks: edge.risks, from, to });
            }
        }
        conditional.sort_unstable();
        (recommended, conditional)
    }

    fn group(&self, out: &mut Vec<u8>, group: &[ResponseEdge], nodes: &[&SerializedNode]) {
        out.extend_from_slice(b"{\"edges\":");
        array(out, group, |out, edge| {
            out.extend_from_slice(b"{\"from\":");
            out.extend_from_slice(nodes[edge.from as usize].version.as_bytes());
            out.extend_from_slice(b",\"to\":");
            out.extend_from_slice(nodes[edge.to as usize].version.as_bytes());
            out.push(b'}');
        });
        out.extend_from_slice(b",\"risks\":");
        out.extend_from_slice(self.risks[group[0].risks.index()].as_bytes());
        out.push(b'}');
    }
}

/// An edge between nodes of a response, by their index in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ResponseEdge {
    risks: RiskSetId,
    from: u32,
    to: u32,
}

/// Groups edges with the same risks. Groups are sorted by their first edge, so that the output
/// depends on the content alone.
fn groups(by_risks: &[ResponseEdge]) -> Vec<&[ResponseEdge]> {
    let mut groups: Vec<&[ResponseEdge]> =
        by_risks.chunk_by(|one, other| one.risks == other.risks).collect();
    groups.sort_unstable_by_key(|group| (group[0].from, group[0].to));
    groups
}

fn array<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("numbers, strings and values serialize to JSON");
}

/// A serialized node.
#[derive(Debug)]
pub(super) struct SerializedNode {
    pub(super) node: NodeId,
    /// Version as a JSON string.
    pub(super) version: String,
    /// Node as a JSON object.
    pub(super) whole: String,
}

#[derive(Serialize)]
struct RawNode<'a> {
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<BTreeMap<&'a str, &'a str>>,
    #[serde(flatten)]
    unknown: &'a UnknownFields,
}

impl SerializedNode {
    /// Serializes a node. For one architecture, version and metadata do not contain it.
    pub(super) fn new(id: NodeId, node: &Node, architecture: Option<&str>) -> Self {
        let version = match architecture {
            Some(architecture) => without_architecture(&node.version, architecture).to_string(),
            None => node.version.to_string(),
        };
        let shown = |key: &str| match key {
            // Cincinnati passes blocks between its components in this key; clients must not see it.
            key::PREVIOUS_REMOVE_REGEX => false,
            key::ARCHITECTURE => architecture.is_none(),
            _ => true,
        };
        let metadata = node.release.as_ref().map(|release| {
            let texts = release.metadata.iter().map(|(key, text)| (key.as_str(), text.as_str()));
            texts.filter(|(key, _)| shown(key)).collect()
        });
        let payload = node.release.as_ref().map(|release| release.payload.as_str());
        let whole = RawNode { version: &version, payload, metadata, unknown: &node.unknown };
        Self { node: id, whole: to_json(&whole), version: to_json(&version) }
    }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and maps of strings always serialize")
}
