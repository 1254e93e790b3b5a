//! Writing a graph: the whole of it, or what clusters of one architecture and channel see.

use std::collections::BTreeMap;

use serde::Serialize;

use super::face::Face;
use crate::graph::{Graph, Scope};
use crate::risk::RiskSetId;

/// The graph as clusters of one architecture see it, or all of it.
///
/// Nodes and risks are written once, when the view is made; an answer for a channel puts the
/// pieces together.
#[derive(Debug)]
pub struct View<'a> {
    graph: &'a Graph,
    faces: Vec<Face>,
    /// The faces of the releases in each channel.
    channels: BTreeMap<&'a str, Vec<usize>>,
    /// The risks of every set, as a JSON array.
    risks: Vec<String>,
}

impl<'a> View<'a> {
    /// Everything there is. Versions have their architectures.
    pub fn whole(graph: &'a Graph) -> Self {
        Self::of(graph, graph.node_ids().map(|(id, node)| Face::new(id, node, None)).collect())
    }

    /// The releases for one architecture, and the updates between them.
    pub fn architecture(graph: &'a Graph, architecture: &str) -> Self {
        let scope = Scope { architecture: Some(architecture), channel: None };
        let shown = graph.node_ids().filter(|(_, node)| scope.shows(node));
        Self::of(graph, shown.map(|(id, node)| Face::new(id, node, Some(architecture))).collect())
    }

    fn of(graph: &'a Graph, faces: Vec<Face>) -> Self {
        let mut channels: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, face) in faces.iter().enumerate() {
            for channel in graph.node(face.node).channels() {
                channels.entry(channel).or_default().push(index);
            }
        }
        Self { graph, faces, channels, risks: graph.risk_sets.json() }
    }

    /// The channels that have a release in this view, by name.
    pub fn channels(&self) -> impl Iterator<Item = &'a str> {
        self.channels.keys().copied()
    }

    /// All of it as JSON.
    pub fn json(&self) -> Vec<u8> {
        self.answer(&self.faces.iter().collect::<Vec<_>>())
    }

    /// The releases in one channel, and the updates between them, as JSON. A channel that nobody
    /// knows has none.
    pub fn channel_json(&self, channel: &str) -> Vec<u8> {
        let indexes = self.channels.get(channel).map_or(&[][..], Vec::as_slice);
        self.answer(&indexes.iter().map(|index| &self.faces[*index]).collect::<Vec<_>>())
    }

    fn answer(&self, faces: &[&Face]) -> Vec<u8> {
        let (recommended, conditional) = self.links(faces);
        let mut out = b"{\"version\":1,\"nodes\":".to_vec();
        array(&mut out, faces, |out, face| out.extend_from_slice(face.whole.as_bytes()));
        out.extend_from_slice(b",\"edges\":");
        array(&mut out, &recommended, |out, link| json(out, &(link.from, link.to)));
        out.extend_from_slice(b",\"conditionalEdges\":");
        array(&mut out, &groups(&conditional), |out, group| self.group(out, group, faces));
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

    /// The links between some nodes: those that everybody gets, and the others by their risks.
    fn links(&self, faces: &[&Face]) -> (Vec<Link>, Vec<Link>) {
        let mut places: Vec<Option<u32>> = vec![None; self.graph.nodes().len()];
        for (place, face) in (0..).zip(faces) {
            places[face.node.index()] = Some(place);
        }
        let (mut recommended, mut conditional) = (Vec::new(), Vec::new());
        for (from, face) in (0..).zip(faces) {
            for edge in self.graph.edges_from(face.node) {
                let Some(to) = places[edge.to.index()] else { continue };
                let links = if edge.is_conditional() { &mut conditional } else { &mut recommended };
                links.push(Link { risks: edge.risks, from, to });
            }
        }
        conditional.sort_unstable();
        (recommended, conditional)
    }

    fn group(&self, out: &mut Vec<u8>, group: &[Link], faces: &[&Face]) {
        out.extend_from_slice(b"{\"edges\":");
        array(out, group, |out, link| {
            out.extend_from_slice(b"{\"from\":");
            out.extend_from_slice(faces[link.from as usize].version.as_bytes());
            out.extend_from_slice(b",\"to\":");
            out.extend_from_slice(faces[link.to as usize].version.as_bytes());
            out.push(b'}');
        });
        out.extend_from_slice(b",\"risks\":");
        out.extend_from_slice(self.risks[group[0].risks.index()].as_bytes());
        out.push(b'}');
    }
}

/// An edge between nodes of an answer, which are named by their places in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    risks: RiskSetId,
    from: u32,
    to: u32,
}

/// Links with the same risks, in the order of their first links: so what is written depends on
/// what is in it alone.
fn groups(by_risks: &[Link]) -> Vec<&[Link]> {
    let mut groups: Vec<&[Link]> =
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
    serde_json::to_writer(out, value).expect("numbers, texts and values can be written to memory");
}
