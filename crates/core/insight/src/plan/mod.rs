//! Upgrade paths of a cluster to a goal, hop by hop.
//!
//! [`Plan::new`] combines the update graph with the risks that the cluster and its operator report.
//! A risk that was not evaluated counts as unknown, never as absent.
//!
//! | module | content |
//! | --- | --- |
//! | `input` | state of the cluster, and the update graph |
//! | `goal` | goals: a version, or the latest release of a minor version or channel |
//! | `channels` | channels that a plan may use, and channel changes along a path |
//! | `edge_risks` | risks of each update, evaluated with the ledger of the operator |
//! | `cluster_risks` | risks that the cluster reports, and for which hops they are valid |
//! | `path_search` | search for the paths with the least risk and with the fewest hops |
//! | `path` | upgrade paths and their hops |
//! | `prerequisite` | actions that an update needs first |
//! | `not_offered` | reasons why a version is not offered |

mod channels;
mod cluster_risks;
mod edge_risks;
mod goal;
mod input;
mod not_offered;
mod path;
mod path_search;
mod prerequisite;

use std::collections::BTreeSet;

use fairway_api::Version;
use fairway_graph::{Graph, NodeId};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

pub use channels::ChannelSet;
pub use cluster_risks::AdminGates;
pub use goal::{Goal, GoalError};
pub use input::{ClusterState, GraphSource, PlanError, PlanInput};
pub use not_offered::{GraphMaintenance, NotOffered};
pub use path::{Hop, HopRisk, UpgradePath};
pub use prerequisite::Prerequisite;

use crate::Verdict;
use crate::exposure::Exposure;
use edge_risks::EdgeRisks;
use not_offered::OfferLookup;
use path_search::PathSearch;

/// Skipped targets in a plan; only the latest are useful.
const MAX_SKIPPED_TARGETS: usize = 3;

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
    pub least_risk: Option<UpgradePath>,
    /// Path with the fewest hops, and among those the least risk.
    pub fewest_hops: Option<UpgradePath>,
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
        /// Names of the channels that could not be retrieved. Their graphs may name further
        /// channels.
        channels: BTreeSet<String>,
        /// Why they could not be retrieved.
        message: String,
    },
    /// A channel in the arguments contains no release.
    EmptyChannel {
        /// Name of the channel.
        channel: String,
    },
    /// Risks that later releases of the path report. They are unknown until the cluster runs these
    /// releases.
    LaterReleases,
}

impl Plan {
    /// All commands of the plan, so that the caller can add cluster flags.
    pub fn commands_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let paths = self.least_risk.iter_mut().chain(&mut self.fewest_hops);
        paths.flat_map(|path| &mut path.hops).flat_map(Hop::commands_mut)
    }

    /// Finds the upgrade paths to a goal that the channels of `channel_set` offer.
    pub fn new(
        cluster: &ClusterState,
        input: PlanInput,
        channel_set: &ChannelSet,
        goal: &Goal,
    ) -> Result<Self, PlanError> {
        let from = cluster.version()?;
        let PlanInput { graph, graph_source, maintenance } = input;
        let lookup = OfferLookup { graph, channel_set, maintenance };
        let mut plan = Self {
            observation_time: cluster.now,
            from: from.to_string(),
            in_progress: cluster.is_updating(),
            goal: goal.to_string(),
            target: None,
            channel: cluster.channel().map(str::to_owned),
            least_risk: None,
            fewest_hops: None,
            skipped_targets: Vec::new(),
            not_offered: None,
            graph_source: graph_source.clone(),
            metrics_source: None,
            limitations: Vec::new(),
            open_queries: BTreeSet::new(),
        };
        let goals = goal.releases(graph, cluster.channel());
        let later = goals.iter().filter(|id| graph.node(**id).version > from).copied();
        let later = channel_set.preferred(graph, later.collect());
        if is_reached(goal, &goals, &later, graph, &from) {
            plan.target = Some(plan.from.clone());
            plan.least_risk = Some(UpgradePath::default());
            plan.fewest_hops = Some(UpgradePath::default());
            return Ok(plan);
        }
        if let Some(current) = graph.find(&from).next() {
            plan.find_paths(cluster, &lookup, current, &later);
        }
        let to = match (&plan.target, goal, later.first()) {
            (Some(to), _, _) => Version::parse(to).ok(),
            (None, Goal::Version(version), _) => Some(version.clone()),
            (None, _, latest) => latest.map(|id| graph.node(*id).version.clone()),
        };
        plan.not_offered = match to {
            Some(to) => lookup.not_offered(&from, &to),
            None if graph.find(&from).next().is_none() => Some(NotOffered::UnknownCurrentVersion),
            None => Some(NotOffered::UnknownVersion),
        };
        let empty = channel_set.empty(graph, goal);
        plan.limitations.extend(empty.map(|channel| Limitation::EmptyChannel { channel }));
        plan.limitations.extend(plan.has_later_minors().then_some(Limitation::LaterReleases));
        Ok(plan)
    }

    fn find_paths(
        &mut self,
        cluster: &ClusterState,
        lookup: &OfferLookup,
        current: NodeId,
        goals: &[NodeId],
    ) {
        let OfferLookup { graph, channel_set, .. } = lookup;
        let edge_risks = EdgeRisks::new(graph, current, cluster);
        let search = PathSearch::find(graph, current, goals, channel_set, &edge_risks);
        self.open_queries = edge_risks.open_queries(search.passable());
        let free = goals.iter().position(|goal| search.risks_to(*goal) == Some(0));
        let reached = goals.iter().position(|goal| search.risks_to(*goal).is_some());
        let path = |edges: Option<Vec<_>>| {
            let edges = edges?;
            let changes = channel_set.changes(graph, &edges);
            Some(UpgradePath::new(graph, &edges, changes, &edge_risks))
        };
        let Some(chosen) = free.or(reached) else { return };
        for goal in goals.iter().take(chosen.min(MAX_SKIPPED_TARGETS)) {
            let path = path(search.safest(*goal)).unwrap_or_default();
            let names: BTreeSet<&str> = path.unaccepted().map(|risk| risk.name.as_str()).collect();
            self.skipped_targets.push(SkippedTarget {
                version: graph.node(*goal).version.to_string(),
                risks: names.into_iter().map(str::to_owned).collect(),
            });
        }
        let chosen = goals[chosen];
        self.target = Some(graph.node(chosen).version.to_string());
        self.least_risk = path(search.safest(chosen));
        self.fewest_hops = path(search.shortest(chosen));
    }

    /// Whether a minor update of the path starts at a later minor version than that of the cluster.
    fn has_later_minors(&self) -> bool {
        let hops = self.least_risk.iter().flat_map(|path| &path.hops);
        let stream = |version: &str| Version::parse(version).map(|version| version.stream()).ok();
        hops.skip(1).any(|hop| stream(&hop.from) != stream(&self.from) && !hop.step.within_minor())
    }

    /// Whether the path has a minor update that unknown OLM operators may not support.
    fn operators_are_unknown(&self, path: &UpgradePath) -> bool {
        let unknown = self
            .limitations
            .iter()
            .any(|limitation| matches!(limitation, Limitation::Operators { .. }));
        unknown && path.hops.iter().any(|hop| !hop.step.within_minor())
    }

    /// Whether the updates of some channels could not be retrieved.
    fn channels_are_unknown(&self) -> bool {
        self.limitations.iter().any(|limitation| matches!(limitation, Limitation::Channels { .. }))
    }

    /// Whether a path without unaccepted risks exists.
    pub fn verdict(&self) -> Verdict {
        let Some(path) = &self.least_risk else {
            return match self.graph_source {
                GraphSource::ClusterVersion { .. } => Verdict::Unknown,
                _ if self.not_offered == Some(NotOffered::UnknownCurrentVersion) => {
                    Verdict::Unknown
                }
                _ if self.channels_are_unknown() => Verdict::Unknown,
                _ => Verdict::No,
            };
        };
        let applies = |risk: &HopRisk| risk.exposure == Exposure::Exposed;
        match path.unaccepted().map(applies).max() {
            _ if path.needs_repair() => Verdict::No,
            None if self.operators_are_unknown(path) => Verdict::Unknown,
            None => Verdict::Yes,
            Some(true) => Verdict::No,
            Some(false) => Verdict::Unknown,
        }
    }
}

/// Whether the cluster already has the goal.
fn is_reached(
    goal: &Goal,
    goals: &[NodeId],
    later: &[NodeId],
    graph: &Graph,
    from: &Version,
) -> bool {
    let is_current = |id: &NodeId| graph.node(*id).version == *from;
    match goal {
        Goal::Version(version) => version == from,
        _ => later.is_empty() && goals.iter().any(is_current),
    }
}

#[cfg(test)]
mod tests;
