//! Search for the path with the least risk and the path with the fewest hops.

use std::collections::HashMap;

use fairway_api::UpdateDistance;
use fairway_graph::analysis::{CheapestPaths, PathCost};
use fairway_graph::{Edge, Graph, NodeId};

use super::channels::ChannelSet;
use super::edge_risks::EdgeRisks;

/// Cheapest paths from the current version.
pub(super) struct PathSearch {
    /// Ordered by unaccepted risks, risks that apply, hops, skip-level updates.
    safest: CheapestPaths<4>,
    /// Ordered by hops, then as above.
    shortest: CheapestPaths<4>,
    /// Updates that a path to a goal can use.
    passable: Vec<Edge>,
}

/// Cost of one update.
#[derive(Clone, Copy)]
struct EdgeCost {
    unaccepted: usize,
    applying: usize,
    /// 1 for a skip-level update, which needs a preflight.
    leaps: usize,
}

impl EdgeCost {
    fn by_risk(self) -> PathCost<4> {
        [self.unaccepted, self.applying, 1, self.leaps]
    }

    fn by_hops(self) -> PathCost<4> {
        [1, self.unaccepted, self.applying, self.leaps]
    }
}

impl PathSearch {
    /// Finds the cheapest paths to the goals along updates that an allowed channel offers and that
    /// the operator does not refuse by distance.
    pub(super) fn find(
        graph: &Graph,
        current: NodeId,
        goals: &[NodeId],
        channel_set: &ChannelSet,
        edge_risks: &EdgeRisks<'_>,
    ) -> Self {
        let leads_to_goal = nodes_leading_to(graph, goals);
        let mut known: HashMap<Edge, Option<EdgeCost>> = HashMap::new();
        let mut cost = |edge: Edge| {
            *known.entry(edge).or_insert_with(|| {
                let leap = leap(graph, edge);
                let passable =
                    leads_to_goal[edge.to] && is_allowed(leap) && channel_set.offers(graph, edge);
                passable.then(|| {
                    let (unaccepted, applying) = edge_risks.count(edge);
                    EdgeCost {
                        unaccepted,
                        applying,
                        leaps: usize::from(leap == UpdateDistance::SkipLevel),
                    }
                })
            })
        };
        let safest = CheapestPaths::find(graph, current, |edge| cost(edge).map(EdgeCost::by_risk));
        let shortest =
            CheapestPaths::find(graph, current, |edge| cost(edge).map(EdgeCost::by_hops));
        let passable = known.into_iter().filter(|(_, cost)| cost.is_some());
        Self { safest, shortest, passable: passable.map(|(edge, _)| edge).collect() }
    }

    /// Updates that a path to a goal can use, in no order.
    pub(super) fn passable(&self) -> &[Edge] {
        &self.passable
    }

    /// Path with the least risk.
    pub(super) fn safest(&self, goal: NodeId) -> Option<Vec<Edge>> {
        self.safest.path(goal)
    }

    /// Path with the fewest hops.
    pub(super) fn shortest(&self, goal: NodeId) -> Option<Vec<Edge>> {
        self.shortest.path(goal)
    }

    /// Number of unaccepted risks of the path with the least risk, `None` without a path. A risk
    /// counts for every hop that has it.
    pub(super) fn risks_to(&self, goal: NodeId) -> Option<usize> {
        self.safest.cost(goal).map(|[unaccepted, ..]| unaccepted)
    }
}

/// Distance of an update.
pub(super) fn leap(graph: &Graph, edge: Edge) -> UpdateDistance {
    UpdateDistance::between(&graph.node(edge.from).version, &graph.node(edge.to).version)
}

/// Whether the operator allows an update over this distance, if need be after a preflight.
pub(super) fn is_allowed(leap: UpdateDistance) -> bool {
    matches!(leap, UpdateDistance::Usual | UpdateDistance::SkipLevel)
}

/// For each node, whether updates lead from it to a goal.
struct ReachesGoal(Vec<bool>);

impl std::ops::Index<NodeId> for ReachesGoal {
    type Output = bool;

    fn index(&self, node: NodeId) -> &bool {
        &self.0[node.index()]
    }
}

/// Marks the nodes from which updates lead to a goal. Nodes are sorted by version and updates lead
/// to later versions, so one pass from the latest to the earliest is enough.
fn nodes_leading_to(graph: &Graph, goals: &[NodeId]) -> ReachesGoal {
    let mut leading = vec![false; graph.nodes().len()];
    for goal in goals {
        leading[goal.index()] = true;
    }
    let from_latest: Vec<NodeId> = graph.node_ids().rev().map(|(id, _)| id).collect();
    for node in from_latest {
        let on =
            graph.edges_from(node).iter().any(|edge| edge.to > node && leading[edge.to.index()]);
        leading[node.index()] |= on;
    }
    ReachesGoal(leading)
}
