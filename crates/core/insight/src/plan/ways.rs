//! Finding the ways: the one with the least risk, and the one with the fewest hops.

use std::collections::HashMap;

use fairway_api::Leap;
use fairway_graph::question::{Cheapest, Cost};
use fairway_graph::{Edge, Graph, NodeId};

use super::lanes::Lanes;
use super::weigh::Scale;

/// The ways from where the cluster is.
pub(super) struct Ways {
    /// By risks that are not accepted, those of them that surely apply, hops, and leaps.
    safest: Cheapest<4>,
    /// By hops, then as above.
    shortest: Cheapest<4>,
    /// The updates that a way to a goal may have.
    passable: Vec<Edge>,
}

/// What one hop costs.
#[derive(Clone, Copy)]
struct Burden {
    unaccepted: usize,
    applying: usize,
    /// Whether it skips a minor version, which takes a preflight.
    leaps: usize,
}

impl Burden {
    fn by_risk(self) -> Cost<4> {
        [self.unaccepted, self.applying, 1, self.leaps]
    }

    fn by_hops(self) -> Cost<4> {
        [1, self.unaccepted, self.applying, self.leaps]
    }
}

impl Ways {
    /// The ways to some of the goals, by updates that some channel shows and no guard refuses.
    pub(super) fn find(
        graph: &Graph,
        here: NodeId,
        goals: &[NodeId],
        lanes: &Lanes,
        scale: &Scale<'_>,
    ) -> Self {
        let leads_there = leading_to(graph, goals);
        let mut known: HashMap<Edge, Option<Burden>> = HashMap::new();
        let mut burden = |edge: Edge| {
            *known.entry(edge).or_insert_with(|| {
                let leap = leap(graph, edge);
                let passable = leads_there[edge.to] && is_allowed(leap) && lanes.show(graph, edge);
                passable.then(|| {
                    let (unaccepted, applying) = scale.burden(edge);
                    Burden { unaccepted, applying, leaps: usize::from(leap == Leap::SkipLevel) }
                })
            })
        };
        let safest = Cheapest::find(graph, here, |edge| burden(edge).map(Burden::by_risk));
        let shortest = Cheapest::find(graph, here, |edge| burden(edge).map(Burden::by_hops));
        let passable = known.into_iter().filter(|(_, burden)| burden.is_some());
        Self { safest, shortest, passable: passable.map(|(edge, _)| edge).collect() }
    }

    /// The updates that a way to a goal may have, in no order.
    pub(super) fn passable(&self) -> &[Edge] {
        &self.passable
    }

    /// The way with the least risk.
    pub(super) fn safest(&self, goal: NodeId) -> Option<Vec<Edge>> {
        self.safest.way(goal)
    }

    /// The way with the fewest hops.
    pub(super) fn shortest(&self, goal: NodeId) -> Option<Vec<Edge>> {
        self.shortest.way(goal)
    }

    /// How many risks that are not accepted the way with the least risk has; none where there is no
    /// way. A risk counts at every hop that has it.
    pub(super) fn risks_to(&self, goal: NodeId) -> Option<usize> {
        self.safest.cost(goal).map(|[unaccepted, ..]| unaccepted)
    }
}

/// How far an update goes.
pub(super) fn leap(graph: &Graph, edge: Edge) -> Leap {
    Leap::between(&graph.node(edge.from).version, &graph.node(edge.to).version)
}

/// Whether the operator lets an update go that far, after a preflight at least.
pub(super) fn is_allowed(leap: Leap) -> bool {
    matches!(leap, Leap::Usual | Leap::SkipLevel)
}

/// Whether updates lead from a node to a goal.
struct Leading(Vec<bool>);

impl std::ops::Index<NodeId> for Leading {
    type Output = bool;

    fn index(&self, node: NodeId) -> &bool {
        &self.0[node.index()]
    }
}

/// The nodes from which updates to later versions lead to a goal. Nodes are in the order of
/// versions, so that one pass from the latest to the earliest finds them all.
fn leading_to(graph: &Graph, goals: &[NodeId]) -> Leading {
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
    Leading(leading)
}
