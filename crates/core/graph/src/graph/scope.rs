//! Parts of a graph: what clusters of one architecture and channel see.

use fairway_api::Version;

use super::{Edge, Graph, Node, NodeId, Parts, key};

/// Which clusters look at the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope<'a> {
    /// Those of one architecture, or all of them.
    pub architecture: Option<&'a str>,
    /// Those that follow one channel, or all of them.
    pub channel: Option<&'a str>,
}

impl Scope<'_> {
    /// Whether these clusters see a node. Only what has a release is in a channel, and of an
    /// architecture.
    pub fn shows(&self, node: &Node) -> bool {
        let of_architecture = |wanted| node.architectures().any(|known| known == wanted);
        let in_channel = |wanted| node.channels().any(|known| known == wanted);
        self.architecture.is_none_or(of_architecture) && self.channel.is_none_or(in_channel)
    }
}

impl Graph {
    /// What these clusters see. For those of one architecture, versions do not name it.
    pub fn within(&self, scope: Scope<'_>) -> Self {
        let (risk_sets, unknown) = (self.risk_sets.clone(), self.unknown.clone());
        let mut parts = Parts { risk_sets, unknown, ..Parts::default() };
        let mut places: Vec<Option<NodeId>> = vec![None; self.nodes.len()];
        for (id, node) in self.node_ids().filter(|(_, node)| scope.shows(node)) {
            places[id.index()] = Some(NodeId::from_index(parts.nodes.len()));
            parts.nodes.push(match scope.architecture {
                Some(architecture) => seen_by(node, architecture),
                None => node.clone(),
            });
        }
        parts.edges = self
            .edges
            .iter()
            .filter_map(|edge| {
                let (from, to) = (places[edge.from.index()]?, places[edge.to.index()]?);
                Some(Edge { from, to, risks: edge.risks })
            })
            .collect();
        parts.assemble()
    }
}

fn seen_by(node: &Node, architecture: &str) -> Node {
    let mut seen =
        Node { version: without_architecture(&node.version, architecture), ..node.clone() };
    if let Some(release) = &mut seen.release {
        release.metadata.remove(key::ARCHITECTURE);
    }
    seen
}

/// A version of one architecture. What cannot be an architecture is none.
pub(crate) fn with_architecture(version: &Version, architecture: &str) -> Version {
    let version = version.without_build();
    Version::parse(&format!("{version}+{architecture}")).unwrap_or(version)
}

/// A version without that architecture in its build.
pub(crate) fn without_architecture(version: &Version, architecture: &str) -> Version {
    let others: Vec<&str> =
        version.build().split_terminator('.').filter(|part| *part != architecture).collect();
    if others.is_empty() {
        return version.without_build();
    }
    with_architecture(version, &others.join("."))
}
