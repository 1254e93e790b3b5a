//! Versions that the metadata of a release names.

use fairway_api::Version;

use crate::graph::{Graph, Node, NodeId, with_architecture};
use crate::problem::Problem;

/// The nodes that a list in the metadata names. They are of the architecture of the release.
pub(super) fn references(
    graph: &Graph,
    node: &Node,
    key: &str,
    problems: &mut Vec<Problem>,
) -> Vec<NodeId> {
    let mut named = Vec::new();
    for text in node.list(key) {
        let (version, key, text) = (node.version.to_string(), key.to_owned(), text.to_owned());
        let Ok(reference) = Version::parse(&text) else {
            problems.push(Problem::BadReference { version, key, text });
            continue;
        };
        let before = named.len();
        named.extend(find(graph, node, &reference));
        if named.len() == before {
            problems.push(Problem::UnknownReference { version, key, named: text });
        }
    }
    named
}

fn find(graph: &Graph, node: &Node, reference: &Version) -> Option<NodeId> {
    let wanted = match node.architectures().next() {
        Some(architecture) => with_architecture(reference, architecture),
        None => reference.clone(),
    };
    let same = |id: &NodeId| graph.node(*id).version.build() == wanted.build();
    graph.find(&wanted).find(same)
}
