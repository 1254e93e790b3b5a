//! The ways from where a cluster is to where somebody wants it, hop by hop.
//!
//! An update graph says which updates there are; the cluster says what stands against them, as far
//! as that is known today. [`Plan::of`] puts both together. What is not known stays unknown: a
//! plan never takes a risk for granted that nobody has looked at.

mod chart;
mod concerns;
mod goal;
mod hop;
mod lanes;
mod need;
mod ways;
mod weigh;
mod why;

use std::collections::BTreeSet;

use fairway_api::Version;
use fairway_graph::{Graph, NodeId};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use chart::{Chart, KnownFrom, Outlook, PlanError};
pub use concerns::Gates;
pub use goal::{Goal, GoalError};
pub use hop::{Exposure, Hop, HopRisk, Way};
pub use lanes::Lanes;
pub use need::Need;
pub use why::{Maintained, NotOffered};

use ways::Ways;
use weigh::Scale;
use why::Sight;

/// Later versions that are told to have been passed over; the latest say enough.
const PASSED_OVER: usize = 3;

/// The ways from where a cluster is to where somebody wants it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The time that all of this is about.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Where the cluster is, or where it is on its way to.
    pub from: String,
    /// Whether it is on its way there.
    pub on_its_way: bool,
    /// Where somebody wants it, as it was asked.
    pub goal: String,
    /// The version that is planned for; none where there is none.
    pub to: Option<String>,
    /// The channel that the cluster follows.
    pub channel: Option<String>,
    /// The way with the least risk, and of those the one with the fewest hops.
    pub least_risk: Option<Way>,
    /// The way with the fewest hops, and of those the one with the least risk.
    pub fewest_hops: Option<Way>,
    /// Later versions that are the goal as well, and why none of them is planned for.
    pub passed_over: Vec<PassedOver>,
    /// Why the version is not offered to the cluster now; none where it is.
    pub not_offered: Option<NotOffered>,
    /// Where it is known from which updates there are.
    pub known_from: KnownFrom,
    /// Who has answered queries, where that is a file; none where nobody was asked, or the cluster.
    pub answered_by: Option<Samples>,
    /// What could not be looked at.
    pub not_known: Vec<Gap>,
    /// Queries that were not asked, and that would tell more about updates on the way.
    #[serde(skip)]
    pub open_queries: BTreeSet<String>,
}

/// A version that is the goal, and is not planned for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PassedOver {
    /// The version.
    pub version: String,
    /// The risks that stand against getting there; without any, no way leads there.
    pub risks: Vec<String>,
}

/// Samples that somebody has saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Samples {
    /// The file.
    pub file: String,
    /// The time that they are of, where they say so.
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "what")]
pub enum Gap {
    /// The operators that OLM has installed.
    Operators {
        /// Why.
        why: String,
    },
    /// What queries yield.
    Queries {
        /// Why.
        why: String,
    },
    /// Which updates some channels have.
    Channels {
        /// The channels; there may be others that only they would have told of.
        channels: BTreeSet<String>,
        /// Why.
        why: String,
    },
    /// A channel that somebody named, and that no release is in.
    EmptyChannel {
        /// The channel.
        channel: String,
    },
    /// What the releases on the way will say against going on: nobody knows before they run.
    LaterReleases,
}

/// What a plan means for somebody who wants to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Some way has no risk that is not accepted.
    Yes,
    /// Every way has one, or there is no way.
    No,
    /// It cannot be told.
    CannotTell,
}

impl Plan {
    /// Every command in it, for whoever knows how they are typed.
    pub fn commands_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let ways = self.least_risk.iter_mut().chain(&mut self.fewest_hops);
        ways.flat_map(|way| &mut way.hops).flat_map(Hop::commands_mut)
    }

    /// The ways to a goal, over the channels of `lanes`.
    pub fn of(
        outlook: &Outlook,
        chart: Chart,
        lanes: &Lanes,
        goal: &Goal,
    ) -> Result<Self, PlanError> {
        let from = outlook.version()?;
        let Chart { graph, known_from, maintained } = chart;
        let sight = Sight { graph, lanes, maintained };
        let mut plan = Self {
            at: outlook.now,
            from: from.to_string(),
            on_its_way: outlook.is_updating(),
            goal: goal.to_string(),
            to: None,
            channel: outlook.channel().map(str::to_owned),
            least_risk: None,
            fewest_hops: None,
            passed_over: Vec::new(),
            not_offered: None,
            known_from: known_from.clone(),
            answered_by: None,
            not_known: Vec::new(),
            open_queries: BTreeSet::new(),
        };
        let goals = goal.releases(graph, outlook.channel());
        let later = goals.iter().filter(|id| graph.node(**id).version > from).copied();
        let later = lanes.preferred(graph, later.collect());
        if is_there(goal, &goals, &later, graph, &from) {
            plan.to = Some(plan.from.clone());
            (plan.least_risk, plan.fewest_hops) = (Some(Way::default()), Some(Way::default()));
            return Ok(plan);
        }
        if let Some(here) = graph.find(&from).next() {
            plan.find_ways(outlook, &sight, here, &later);
        }
        let to = match (&plan.to, goal, later.first()) {
            (Some(to), _, _) => Version::parse(to).ok(),
            (None, Goal::Version(version), _) => Some(version.clone()),
            (None, _, latest) => latest.map(|id| graph.node(*id).version.clone()),
        };
        plan.not_offered = match to {
            Some(to) => sight.not_offered(&from, &to),
            None if graph.find(&from).next().is_none() => Some(NotOffered::UnknownHere),
            None => Some(NotOffered::UnknownVersion),
        };
        let empty = lanes.empty(graph, goal);
        plan.not_known.extend(empty.map(|channel| Gap::EmptyChannel { channel }));
        plan.not_known.extend(plan.meets_later_releases().then_some(Gap::LaterReleases));
        Ok(plan)
    }

    fn find_ways(&mut self, outlook: &Outlook, sight: &Sight, here: NodeId, goals: &[NodeId]) {
        let Sight { graph, lanes, .. } = sight;
        let scale = Scale::new(graph, here, outlook);
        let ways = Ways::find(graph, here, goals, lanes, &scale);
        self.open_queries = scale.open_queries(ways.passable());
        let free = goals.iter().position(|goal| ways.risks_to(*goal) == Some(0));
        let reached = goals.iter().position(|goal| ways.risks_to(*goal).is_some());
        let way = |edges: Option<Vec<_>>| {
            let edges = edges?;
            Some(hop::way(graph, &edges, lanes.changes(graph, &edges), &scale))
        };
        let Some(chosen) = free.or(reached) else { return };
        for goal in goals.iter().take(chosen.min(PASSED_OVER)) {
            let way = way(ways.safest(*goal)).unwrap_or_default();
            let names: BTreeSet<&str> = way.unaccepted().map(|risk| risk.name.as_str()).collect();
            self.passed_over.push(PassedOver {
                version: graph.node(*goal).version.to_string(),
                risks: names.into_iter().map(str::to_owned).collect(),
            });
        }
        let chosen = goals[chosen];
        self.to = Some(graph.node(chosen).version.to_string());
        self.least_risk = way(ways.safest(chosen));
        self.fewest_hops = way(ways.shortest(chosen));
    }

    /// Whether some update begins at a minor version that the cluster does not have yet.
    fn meets_later_releases(&self) -> bool {
        let hops = self.least_risk.iter().flat_map(|way| &way.hops);
        let stream = |version: &str| Version::parse(version).map(|version| version.stream()).ok();
        hops.skip(1).any(|hop| stream(&hop.from) != stream(&self.from) && !hop.step.within_minor())
    }

    /// Whether operators of OLM may stand against an update to another minor version, and nobody
    /// has looked.
    fn operators_are_unknown(&self, way: &Way) -> bool {
        let unknown = self.not_known.iter().any(|gap| matches!(gap, Gap::Operators { .. }));
        unknown && way.hops.iter().any(|hop| !hop.step.within_minor())
    }

    /// Whether there may be updates that nobody has told of.
    fn channels_are_unknown(&self) -> bool {
        self.not_known.iter().any(|gap| matches!(gap, Gap::Channels { .. }))
    }

    /// What it means for somebody who wants to begin.
    pub fn verdict(&self) -> Verdict {
        let Some(way) = &self.least_risk else {
            return match self.known_from {
                KnownFrom::ClusterVersion { .. } => Verdict::CannotTell,
                _ if self.not_offered == Some(NotOffered::UnknownHere) => Verdict::CannotTell,
                _ if self.channels_are_unknown() => Verdict::CannotTell,
                _ => Verdict::No,
            };
        };
        let applies = |risk: &HopRisk| risk.exposure == Exposure::Applies;
        match way.unaccepted().map(applies).max() {
            _ if way.has_to_be_mended() => Verdict::No,
            None if self.operators_are_unknown(way) => Verdict::CannotTell,
            None => Verdict::Yes,
            Some(true) => Verdict::No,
            Some(false) => Verdict::CannotTell,
        }
    }
}

/// Whether the cluster has what somebody wants already.
fn is_there(
    goal: &Goal,
    goals: &[NodeId],
    later: &[NodeId],
    graph: &Graph,
    from: &Version,
) -> bool {
    let is_it = |id: &NodeId| graph.node(*id).version == *from;
    match goal {
        Goal::Version(version) => version == from,
        _ => later.is_empty() && goals.iter().any(is_it),
    }
}

#[cfg(test)]
mod tests;
