//! Differences between two graphs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::Count;
use crate::graph::{Edge, Graph, Node};
use crate::risk::Risk;

/// Differences between two update graphs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Changes")]
pub struct GraphChanges {
    /// Releases that only the new graph has.
    pub added: Vec<String>,
    /// Releases that only the old graph has.
    pub removed: Vec<String>,
    /// Releases whose image or metadata has changed.
    pub changed: Vec<String>,
    /// Updates that are added or removed, or whose risks have changed.
    pub edges: Vec<EdgeChange>,
    /// Names of risks whose definition for this update has changed.
    pub redefined: BTreeSet<String>,
}

/// Difference of one update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EdgeChange {
    /// Source version.
    pub from: String,
    /// Target version.
    pub to: String,
    /// State in the old graph.
    pub old: EdgeState,
    /// State in the new graph.
    pub new: EdgeState,
}

/// State of an update in a graph.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "State")]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum EdgeState {
    /// The graph does not have the update.
    Absent,
    /// The update is recommended to all clusters.
    Recommended,
    /// The update is recommended to clusters to which its risks do not apply.
    Conditional {
        /// Names of the risks.
        risks: Vec<String>,
    },
}

impl GraphChanges {
    /// Compares two graphs.
    pub fn between(before: &Graph, after: &Graph) -> Self {
        let (old, new) = (nodes(before), nodes(after));
        let changed = new.iter().filter(|(key, node)| {
            old.get(*key).is_some_and(|before| before.release != node.release)
        });
        Self {
            added: new.keys().filter(|key| !old.contains_key(*key)).map(text).collect(),
            removed: old.keys().filter(|key| !new.contains_key(*key)).map(text).collect(),
            changed: changed.map(|(key, _)| text(key)).collect(),
            edges: edge_changes(before, after),
            redefined: redefined(before, after),
        }
    }

    /// Whether the graphs are equal.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A version and its architecture, which the order of versions ignores.
type NodeKey<'a> = (&'a Version, &'a str);

fn nodes(graph: &Graph) -> BTreeMap<NodeKey<'_>, &Node> {
    graph.nodes().iter().map(|node| ((&node.version, node.version.build()), node)).collect()
}

fn edge_changes(before: &Graph, after: &Graph) -> Vec<EdgeChange> {
    let (old, new) = (edges(before), edges(after));
    let all: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let state = |graph, edge: Option<&Edge>| {
        edge.map_or(EdgeState::Absent, |edge| EdgeState::new(graph, *edge))
    };
    all.into_iter()
        .map(|ends| (ends, state(before, old.get(ends)), state(after, new.get(ends))))
        .filter(|(_, old, new)| old != new)
        .map(|((to, from), old, new)| EdgeChange { from: text(from), to: text(to), old, new })
        .collect()
}

fn redefined(before: &Graph, after: &Graph) -> BTreeSet<String> {
    let old = edges(before);
    let mut names = BTreeSet::new();
    for (ends, edge) in edges(after) {
        let Some(was) = old.get(&ends) else { continue };
        for risk in after.risks(edge) {
            let differs = |was: &&Arc<Risk>| was.name == risk.name && *was != risk;
            names.extend(before.risks(*was).find(differs).map(|was| was.name.clone()));
        }
    }
    names
}

/// Edges by target, then by source.
fn edges(graph: &Graph) -> BTreeMap<(NodeKey<'_>, NodeKey<'_>), Edge> {
    let key = |id| {
        let version = &graph.node(id).version;
        (version, version.build())
    };
    graph.edges().iter().map(|edge| ((key(edge.to), key(edge.from)), *edge)).collect()
}

fn text((version, _): &NodeKey<'_>) -> String {
    version.to_string()
}

impl EdgeState {
    fn new(graph: &Graph, edge: Edge) -> Self {
        if !edge.is_conditional() {
            return Self::Recommended;
        }
        Self::Conditional { risks: graph.risks(edge).map(|risk| risk.name.clone()).collect() }
    }
}

impl fmt::Display for EdgeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("not there"),
            Self::Recommended => f.write_str("recommended"),
            Self::Conditional { risks } => f.write_str(&risks.join(", ")),
        }
    }
}

impl fmt::Display for GraphChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no difference");
        }
        let mut lines = Vec::new();
        for (sign, versions) in [("+", &self.added), ("-", &self.removed), ("~", &self.changed)] {
            lines.extend(versions.iter().map(|version| format!("{sign} {version}")));
        }
        lines.extend(self.by_target());
        lines.extend(self.redefined.iter().map(|name| format!("{name}: content changed")));
        f.write_str(&lines.join("\n"))
    }
}

impl GraphChanges {
    /// One line for all updates to a version with the same change.
    fn by_target(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for to_one in self.edges.chunk_by(|one, other| one.to == other.to) {
            let mut alike: BTreeMap<(&EdgeState, &EdgeState), Vec<&EdgeChange>> = BTreeMap::new();
            for change in to_one {
                alike.entry((&change.old, &change.new)).or_default().push(change);
            }
            lines.extend(alike.into_values().filter_map(|alike| line(&alike)));
        }
        lines
    }
}

fn line(alike: &[&EdgeChange]) -> Option<String> {
    let EdgeChange { from, to, old, new } = alike.first()?;
    let from = match alike {
        [_] => from.clone(),
        [.., last] => format!("{from} … {} ({})", last.from, Count(alike.len(), "update")),
        [] => return None,
    };
    Some(format!("{from} -> {to}: {old} => {new}"))
}
