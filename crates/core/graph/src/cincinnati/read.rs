//! Reader of Cincinnati JSON.
//!
//! It preserves unknown fields and rule types. Invalid parts are omitted and reported. An edge that
//! is both recommended and conditional, or in several groups, has all risks.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use fairway_api::{UnknownFields, Version};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::graph::{Edge, Graph, Node, NodeId, Parts, Release};
use crate::problem::GraphProblem;
use crate::risk::{Risk, RiskSetId, always};

/// Bytes of a graph: three times the size of OpenShift's graph.
pub const MAX_BYTES: usize = 32 << 20;

/// Nodes of a graph: twenty times as many as OpenShift's graph has.
const MAX_NODES: usize = 100_000;

/// Edges of a graph: ten times as many as OpenShift's graph has.
const MAX_EDGES: usize = 3_000_000;

/// Name of a risk without a name.
const NO_RISK_NAME: &str = "UnnamedRisk";

/// Reason why a graph cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphReadError {
    /// The graph exceeds a limit.
    #[error("{input} has {size} {what}; the limit is {limit}")]
    TooLarge {
        /// Name of the input.
        input: String,
        /// Unit of the limit.
        what: &'static str,
        /// Size of the input.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The input is not a graph.
    #[error("{input}: {why}")]
    Malformed {
        /// Name of the input.
        input: String,
        /// Parse error with line and column.
        why: String,
    },
}

#[derive(Default)]
struct RawGraph {
    nodes: Vec<RawNode>,
    edges: Vec<(u64, u64)>,
    conditional_edges: Vec<RawGroup>,
    unknown: UnknownFields,
}

// Not derived: with `flatten`, serde would buffer the whole graph to find unknown keys.
impl<'de> Deserialize<'de> for RawGraph {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;

        impl<'de> Visitor<'de> for Keys {
            type Value = RawGraph;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an update graph")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawGraph, A::Error> {
                let mut graph = RawGraph::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.to_ascii_lowercase().as_str() {
                        "nodes" => graph.nodes = or_empty(&mut map)?,
                        "edges" => graph.edges = or_empty(&mut map)?,
                        // Repeated keys are merged, so that no risk is lost.
                        "conditionaledges" => {
                            graph.conditional_edges.append(&mut or_empty(&mut map)?);
                        }
                        // The protocol has one version.
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
#[serde(expecting = "an object that describes a release")]
struct RawNode {
    version: String,
    payload: Option<String>,
    metadata: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    unknown: UnknownFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawGroup {
    #[serde(alias = "Edges")]
    edges: Vec<RawEdge>,
    #[serde(alias = "Risks")]
    risks: Vec<Risk>,
}

#[derive(Deserialize)]
struct RawEdge {
    #[serde(alias = "From")]
    from: String,
    #[serde(alias = "To")]
    to: String,
}

/// Reads a graph. Errors start with `name`, the name of the input.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Graph, Vec<GraphProblem>), GraphReadError> {
    check_limit(name, "bytes", bytes.len(), MAX_BYTES)?;
    let raw: RawGraph = serde_json::from_slice(bytes).map_err(|error| {
        GraphReadError::Malformed { input: name.to_owned(), why: error.to_string() }
    })?;
    let conditional: usize = raw.conditional_edges.iter().map(|group| group.edges.len()).sum();
    check_limit(name, "nodes", raw.nodes.len(), MAX_NODES)?;
    check_limit(name, "edges", raw.edges.len() + conditional, MAX_EDGES)?;
    let mut reader = GraphReader::default();
    let ids = reader.nodes(raw.nodes);
    reader.edges(&raw.edges, &ids);
    for group in raw.conditional_edges {
        reader.group(group);
    }
    let GraphReader { mut parts, mut problems, .. } = reader;
    parts.unknown = raw.unknown;
    let graph = parts.assemble();
    problems.extend(graph.risk_sets.problems());
    Ok((graph, problems))
}

fn check_limit(
    input: &str,
    what: &'static str,
    size: usize,
    limit: usize,
) -> Result<(), GraphReadError> {
    if size <= limit {
        return Ok(());
    }
    Err(GraphReadError::TooLarge { input: input.to_owned(), what, size, limit })
}

#[derive(Default)]
struct GraphReader {
    parts: Parts,
    problems: Vec<GraphProblem>,
    by_version: HashMap<String, NodeId>,
}

impl GraphReader {
    /// Adds nodes and returns the ID of each. Different nodes with the same version are all
    /// omitted.
    fn nodes(&mut self, nodes: Vec<RawNode>) -> Vec<Option<NodeId>> {
        let read: Vec<Option<Node>> = nodes.into_iter().map(|node| self.node(node)).collect();
        let mut claims: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, node) in read.iter().enumerate() {
            if let Some(node) = node {
                claims.entry(node.version.to_string()).or_default().push(place);
            }
        }
        let mut ids = vec![None; read.len()];
        for (version, claims) in claims {
            let nodes: Vec<&Node> =
                claims.iter().filter_map(|place| read[*place].as_ref()).collect();
            let Some((first, others)) = nodes.split_first() else { continue };
            if others.iter().any(|other| other.release != first.release) {
                let payload = |node: &&Node| Some(node.release.as_ref()?.payload.clone());
                let images = nodes.iter().filter_map(payload).collect();
                self.problems.push(GraphProblem::DuplicateVersion { version, images });
                continue;
            }
            let id = NodeId::from_index(self.parts.nodes.len());
            self.parts.nodes.push(Node::clone(first));
            self.by_version.insert(version, id);
            for claim in claims {
                ids[claim] = Some(id);
            }
        }
        ids
    }

    fn node(&mut self, node: RawNode) -> Option<Node> {
        let RawNode { version, payload, metadata, unknown } = node;
        let Ok(version) = Version::parse(&version) else {
            self.problems.push(GraphProblem::UnreadableVersion { text: version });
            return None;
        };
        let metadata = metadata.unwrap_or_default();
        let release = payload.map(|payload| Release { payload, metadata });
        Some(Node { version, release, unknown })
    }

    fn edges(&mut self, edges: &[(u64, u64)], ids: &[Option<NodeId>]) {
        let place = |index: u64| ids.get(usize::try_from(index).ok()?).copied().flatten();
        for (from, to) in edges {
            match (place(*from), place(*to)) {
                (Some(from), Some(to)) => {
                    self.parts.edges.push(Edge { from, to, risks: RiskSetId::NONE });
                }
                _ => self.problems.push(GraphProblem::DanglingEdge {
                    from: format!("node {from}"),
                    to: format!("node {to}"),
                }),
            }
        }
    }

    fn group(&mut self, group: RawGroup) {
        let sets = &mut self.parts.risk_sets;
        let mut members = group
            .risks
            .iter()
            .map(|risk| sets.risk(&Arc::new(with_required_fields(risk))))
            .collect();
        let mut risks = sets.set(&mut members);
        if group.risks.is_empty() {
            let risk_defaults = sets.risk(&Arc::new(unnamed_risk()));
            risks = sets.set(&mut vec![risk_defaults]);
        }
        for RawEdge { from, to } in group.edges {
            match (self.by_version.get(&from), self.by_version.get(&to)) {
                (Some(&begin), Some(&end)) => {
                    self.parts.edges.push(Edge { from: begin, to: end, risks });
                    if group.risks.is_empty() {
                        self.problems.push(GraphProblem::NoRisks { from, to });
                    }
                }
                _ => self.problems.push(GraphProblem::DanglingEdge { from, to }),
            }
        }
    }
}

/// The risk with a name and at least one rule. Without rules, no cluster can evaluate it, so it
/// always applies.
fn with_required_fields(risk: &Risk) -> Risk {
    let mut risk = risk.clone();
    if risk.name.is_empty() {
        NO_RISK_NAME.clone_into(&mut risk.name);
    }
    if risk.matching_rules.is_empty() {
        risk.matching_rules = always();
    }
    risk
}

fn unnamed_risk() -> Risk {
    Risk {
        name: NO_RISK_NAME.to_owned(),
        message: "The update service lists no risks for this conditional update.".to_owned(),
        matching_rules: always(),
        ..Risk::default()
    }
}
