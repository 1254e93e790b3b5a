//! Reading a graph.
//!
//! Unknown keys and kinds of rules are kept. What makes no sense is left out and said, and where
//! an edge is both recommended and conditional, or in several groups, all its risks count.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use fairway_api::{UnknownFields, Version};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::graph::{Edge, Graph, Node, NodeId, Parts, Release};
use crate::problem::Problem;
use crate::risk::{Risk, RiskSetId, always};

/// Bytes of a graph: three times as many as the largest real one has.
pub const MAX_BYTES: usize = 32 << 20;

/// Nodes of a graph: twenty times as many as there are.
const MAX_NODES: usize = 100_000;

/// Edges of a graph: ten times as many as there are.
const MAX_EDGES: usize = 3_000_000;

/// What an update without a named risk is said to have.
const NO_RISK_NAME: &str = "UnnamedRisk";

/// Why a graph could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It is too large to be looked at.
    #[error("{input} has {size} {what}; the limit is {limit}")]
    TooLarge {
        /// What people call the input.
        input: String,
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        size: usize,
        /// How much is read.
        limit: usize,
    },
    /// It is not a graph.
    #[error("{input}: {why}")]
    Malformed {
        /// What people call the input.
        input: String,
        /// What the parser says, with line and column.
        why: String,
    },
}

#[derive(Default)]
struct WireGraph {
    nodes: Vec<WireNode>,
    edges: Vec<(u64, u64)>,
    conditional_edges: Vec<WireGroup>,
    unknown: UnknownFields,
}

// Written by hand because a derived one would hold the whole graph twice to find unknown keys.
impl<'de> Deserialize<'de> for WireGraph {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = WireGraph;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an update graph")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireGraph, A::Error> {
                let mut graph = WireGraph::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.to_ascii_lowercase().as_str() {
                        "nodes" => graph.nodes = or_empty(&mut map)?,
                        "edges" => graph.edges = or_empty(&mut map)?,
                        // However often it occurs: no risk is lost to another.
                        "conditionaledges" => {
                            graph.conditional_edges.append(&mut or_empty(&mut map)?);
                        }
                        // The version of the protocol, of which there is one.
                        "version" => drop(map.next_value::<IgnoredAny>()?),
                        _ => drop(graph.unknown.insert(key, map.next_value()?)),
                    }
                }
                Ok(graph)
            }
        }

        deserializer.deserialize_map(Keys)
    }
}

fn or_empty<'de, A: MapAccess<'de>, T: Deserialize<'de>>(map: &mut A) -> Result<Vec<T>, A::Error> {
    Ok(map.next_value::<Option<Vec<T>>>()?.unwrap_or_default())
}

#[derive(Deserialize)]
struct WireNode {
    version: String,
    payload: Option<String>,
    metadata: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    unknown: UnknownFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireGroup {
    #[serde(alias = "Edges")]
    edges: Vec<WireEdge>,
    #[serde(alias = "Risks")]
    risks: Vec<Risk>,
}

#[derive(Deserialize)]
struct WireEdge {
    #[serde(alias = "From")]
    from: String,
    #[serde(alias = "To")]
    to: String,
}

/// Reads a graph. `name` is what people call the input; errors begin with it.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Graph, Vec<Problem>), WireError> {
    within(name, "bytes", bytes.len(), MAX_BYTES)?;
    let wire: WireGraph = serde_json::from_slice(bytes)
        .map_err(|error| WireError::Malformed { input: name.to_owned(), why: error.to_string() })?;
    let conditional: usize = wire.conditional_edges.iter().map(|group| group.edges.len()).sum();
    within(name, "nodes", wire.nodes.len(), MAX_NODES)?;
    within(name, "edges", wire.edges.len() + conditional, MAX_EDGES)?;
    let mut reader = Reader::default();
    let places = reader.nodes(wire.nodes);
    reader.edges(&wire.edges, &places);
    for group in wire.conditional_edges {
        reader.group(group);
    }
    let Reader { mut parts, mut problems, .. } = reader;
    parts.unknown = wire.unknown;
    let graph = parts.assemble();
    problems.extend(graph.risk_sets.problems());
    Ok((graph, problems))
}

fn within(input: &str, what: &'static str, size: usize, limit: usize) -> Result<(), WireError> {
    if size <= limit {
        return Ok(());
    }
    Err(WireError::TooLarge { input: input.to_owned(), what, size, limit })
}

#[derive(Default)]
struct Reader {
    parts: Parts,
    problems: Vec<Problem>,
    by_version: HashMap<String, NodeId>,
}

impl Reader {
    /// Takes in nodes, and says where each one went. Nodes that differ and have the same version
    /// are left out, all of them.
    fn nodes(&mut self, nodes: Vec<WireNode>) -> Vec<Option<NodeId>> {
        let read: Vec<Option<Node>> = nodes.into_iter().map(|node| self.node(node)).collect();
        let mut claims: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, node) in read.iter().enumerate() {
            if let Some(node) = node {
                claims.entry(node.version.to_string()).or_default().push(place);
            }
        }
        let mut places = vec![None; read.len()];
        for (version, claims) in claims {
            let nodes: Vec<&Node> =
                claims.iter().filter_map(|place| read[*place].as_ref()).collect();
            let Some((first, others)) = nodes.split_first() else { continue };
            if others.iter().any(|other| other.release != first.release) {
                let payload = |node: &&Node| Some(node.release.as_ref()?.payload.clone());
                let images = nodes.iter().filter_map(payload).collect();
                self.problems.push(Problem::DuplicateVersion { version, images });
                continue;
            }
            let id = NodeId::from_index(self.parts.nodes.len());
            self.parts.nodes.push(Node::clone(first));
            self.by_version.insert(version, id);
            for claim in claims {
                places[claim] = Some(id);
            }
        }
        places
    }

    fn node(&mut self, node: WireNode) -> Option<Node> {
        let WireNode { version, payload, metadata, unknown } = node;
        let Ok(version) = Version::parse(&version) else {
            self.problems.push(Problem::UnreadableVersion { text: version });
            return None;
        };
        let metadata = metadata.unwrap_or_default();
        let release = payload.map(|payload| Release { payload, metadata });
        Some(Node { version, release, unknown })
    }

    fn edges(&mut self, edges: &[(u64, u64)], places: &[Option<NodeId>]) {
        let place = |index: u64| places.get(usize::try_from(index).ok()?).copied().flatten();
        for (from, to) in edges {
            match (place(*from), place(*to)) {
                (Some(from), Some(to)) => {
                    self.parts.edges.push(Edge { from, to, risks: RiskSetId::NONE });
                }
                _ => self.problems.push(Problem::DanglingEdge {
                    from: format!("node {from}"),
                    to: format!("node {to}"),
                }),
            }
        }
    }

    fn group(&mut self, group: WireGroup) {
        let sets = &mut self.parts.risk_sets;
        let mut members =
            group.risks.iter().map(|risk| sets.risk(&Arc::new(strict(risk)))).collect();
        let mut risks = sets.set(&mut members);
        if group.risks.is_empty() {
            let stand_in = sets.risk(&Arc::new(unnamed()));
            risks = sets.set(&mut vec![stand_in]);
        }
        for WireEdge { from, to } in group.edges {
            match (self.by_version.get(&from), self.by_version.get(&to)) {
                (Some(&begin), Some(&end)) => {
                    self.parts.edges.push(Edge { from: begin, to: end, risks });
                    if group.risks.is_empty() {
                        self.problems.push(Problem::NoRisks { from, to });
                    }
                }
                _ => self.problems.push(Problem::DanglingEdge { from, to }),
            }
        }
    }
}

/// The risk with what may not be missing. Without a rule nobody can find out whom it concerns.
fn strict(risk: &Risk) -> Risk {
    let mut risk = risk.clone();
    if risk.name.is_empty() {
        NO_RISK_NAME.clone_into(&mut risk.name);
    }
    if risk.matching_rules.is_empty() {
        risk.matching_rules = always();
    }
    risk
}

fn unnamed() -> Risk {
    Risk {
        name: NO_RISK_NAME.to_owned(),
        message: "The update service states no risk for this conditional update.".to_owned(),
        matching_rules: always(),
        ..Risk::default()
    }
}
