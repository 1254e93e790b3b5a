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

pub use chart::{Chart, GraphSource, Outlook, PlanError};
pub use concerns::Gates;
pub use goal::{Goal, GoalError};
pub use hop::{Exposure, Hop, HopRisk, Way};
pub use lanes::Lanes;
pub use need::Prerequisite;
pub use why::{Maintained, NotOffered};

use ways::Ways;
use weigh::Scale;
use why::Sight;

/// Later versions that are told to have been passed over; the latest say enough.
const PASSED_OVER: usize = 3;

/// Upgrade paths of a cluster to a goal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Time at which the cluster was observed.
    #[schemars(with = "String")]
    pub observation_time: Timestamp,
    /// Version of the cluster, or of the rollout in progress.
    pub from: String,
    /// Whether the rollout of `from` is in progress.
    pub in_progress: bool,
    /// Goal of the plan, as given in the arguments.
    pub goal: String,
    /// Version that the plan leads to, `null` if there is none.
    pub target: Option<String>,
    /// Channel of the cluster.
    pub channel: Option<String>,
    /// Path with the least risk, and among those the fewest hops.
    pub least_risk: Option<Way>,
    /// Path with the fewest hops, and among those the least risk.
    pub fewest_hops: Option<Way>,
    /// Later versions that match the goal, and why the plan does not lead to them.
    pub skipped_targets: Vec<SkippedTarget>,
    /// Why the target is not offered to the cluster now, `null` if it is.
    pub not_offered: Option<NotOffered>,
    /// Source of the update graph.
    pub graph_source: GraphSource,
    /// Metrics snapshot that the queries are evaluated with, `null` if there is none.
    pub metrics_source: Option<MetricsSource>,
    /// Data that the plan does not cover.
    pub limitations: Vec<Limitation>,
    /// Queries that were not evaluated and that would tell more about later updates.
    #[serde(skip)]
    pub open_queries: BTreeSet<String>,
}

/// Version that matches the goal and that the plan does not lead to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedTarget {
    /// Version of the release.
    pub version: String,
    /// Names of the risks that block all paths. Empty if there is no path.
    pub risks: Vec<String>,
}

/// Metrics snapshot for the evaluation of queries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsSource {
    /// Path of the file.
    pub file: String,
    /// Time of the samples, if the file states it.
    #[schemars(with = "Option<String>")]
    pub observation_time: Option<Timestamp>,
}

/// Data that a plan does not cover.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum Limitation {
    /// The OLM operators could not be read.
    Operators {
        /// Why they could not be read.
        message: String,
    },
    /// Queries could not be evaluated.
    Queries {
        /// Why they could not be evaluated.
        message: String,
    },
    /// The updates of some channels could not be retrieved.
    Channels {
        /// Names of these channels. They may lead to further channels.
        channels: BTreeSet<String>,
        /// Why they could not be retrieved.
        message: String,
    },
    /// A channel in the arguments contains no release.
    EmptyChannel {
        /// Name of the channel.
        channel: String,
    },
    /// Risks that later releases of the path will report: they are unknown until these run.
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
        let Chart { graph, graph_source, maintained } = chart;
        let sight = Sight { graph, lanes, maintained };
        let mut plan = Self {
            observation_time: outlook.now,
            from: from.to_string(),
            in_progress: outlook.is_updating(),
            goal: goal.to_string(),
            target: None,
            channel: outlook.channel().map(str::to_owned),
            least_risk: None,
            fewest_hops: None,
            skipped_targets: Vec::new(),
            not_offered: None,
            graph_source: graph_source.clone(),
            metrics_source: None,
            limitations: Vec::new(),
            open_queries: BTreeSet::new(),
        };
        let goals = goal.releases(graph, outlook.channel());
        let later = goals.iter().filter(|id| graph.node(**id).version > from).copied();
        let later = lanes.preferred(graph, later.collect());
        if is_there(goal, &goals, &later, graph, &from) {
            plan.target = Some(plan.from.clone());
            (plan.least_risk, plan.fewest_hops) = (Some(Way::default()), Some(Way::default()));
            return Ok(plan);
        }
        if let Some(here) = graph.find(&from).next() {
            plan.find_ways(outlook, &sight, here, &later);
        }
        let to = match (&plan.target, goal, later.first()) {
            (Some(to), _, _) => Version::parse(to).ok(),
            (None, Goal::Version(version), _) => Some(version.clone()),
            (None, _, latest) => latest.map(|id| graph.node(*id).version.clone()),
        };
        plan.not_offered = match to {
            Some(to) => sight.not_offered(&from, &to),
            None if graph.find(&from).next().is_none() => Some(NotOffered::UnknownCurrentVersion),
            None => Some(NotOffered::UnknownVersion),
        };
        let empty = lanes.empty(graph, goal);
        plan.limitations.extend(empty.map(|channel| Limitation::EmptyChannel { channel }));
        plan.limitations.extend(plan.meets_later_releases().then_some(Limitation::LaterReleases));
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
            self.skipped_targets.push(SkippedTarget {
                version: graph.node(*goal).version.to_string(),
                risks: names.into_iter().map(str::to_owned).collect(),
            });
        }
        let chosen = goals[chosen];
        self.target = Some(graph.node(chosen).version.to_string());
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
        let unknown =
            self.limitations.iter().any(|gap| matches!(gap, Limitation::Operators { .. }));
        unknown && way.hops.iter().any(|hop| !hop.step.within_minor())
    }

    /// Whether there may be updates that nobody has told of.
    fn channels_are_unknown(&self) -> bool {
        self.limitations.iter().any(|gap| matches!(gap, Limitation::Channels { .. }))
    }

    /// What it means for somebody who wants to begin.
    pub fn verdict(&self) -> Verdict {
        let Some(way) = &self.least_risk else {
            return match self.graph_source {
                GraphSource::ClusterVersion { .. } => Verdict::CannotTell,
                _ if self.not_offered == Some(NotOffered::UnknownCurrentVersion) => {
                    Verdict::CannotTell
                }
                _ if self.channels_are_unknown() => Verdict::CannotTell,
                _ => Verdict::No,
            };
        };
        let applies = |risk: &HopRisk| risk.exposure == Exposure::Exposed;
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
