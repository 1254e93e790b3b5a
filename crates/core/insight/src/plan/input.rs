//! Input of a plan: the state of the cluster and the update graph.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{ConditionalUpdateRisk, Release};
use fairway_api::reason::{progressing, retrieved_updates};
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _, Version};
use fairway_graph::{Graph, Node, Risk};
use fairway_risk::{Acceptance, PreviousEvaluation, QueryOutcomes};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::cluster_risks::AdminGates;
use super::not_offered::GraphMaintenance;

/// State of a cluster that a plan depends on.
pub struct ClusterState<'a> {
    /// ClusterVersion of the cluster.
    pub cluster_version: &'a ClusterVersion,
    /// ClusterOperators of the platform.
    pub components: &'a [ClusterOperator],
    /// Why the ClusterOperators could not be listed.
    pub operators_error: Option<&'a str>,
    /// Admin gates and their acknowledgements.
    pub gates: &'a AdminGates,
    /// Results of PromQL queries.
    pub outcomes: &'a QueryOutcomes,
    /// Time of the observation.
    pub now: Timestamp,
}

/// Update graph that a plan uses.
#[derive(Clone, Copy)]
pub struct PlanInput<'a> {
    /// Graph for the architecture of the cluster.
    pub graph: &'a Graph,
    /// Source of the graph.
    pub graph_source: &'a GraphSource,
    /// Graph-data, if the graph was built from it.
    pub maintenance: Option<GraphMaintenance<'a>>,
}

/// Source of the update graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "type")]
pub enum GraphSource {
    /// An update service.
    UpdateService {
        /// URL of the update service.
        url: String,
        /// Requested channels.
        channels: BTreeSet<String>,
        /// Requested architecture.
        architecture: String,
    },
    /// A file or a directory.
    File {
        /// Path of the file.
        file: String,
    },
    /// ClusterVersion, which lists only direct updates from the current version.
    ClusterVersion {
        /// Why there is no other source.
        message: String,
    },
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// ClusterVersion has no valid version.
    #[error("the version of the cluster is unknown")]
    NoVersion,
}

impl ClusterState<'_> {
    /// Version of the cluster, or of the rollout in progress.
    pub fn version(&self) -> Result<Version, PlanError> {
        let status = self.cluster_version.status.as_ref().ok_or(PlanError::NoVersion)?;
        let version = Version::parse(&status.desired.version).map_err(|_| PlanError::NoVersion)?;
        Ok(version.without_build())
    }

    /// Channel of the cluster.
    pub fn channel(&self) -> Option<&str> {
        self.cluster_version.spec.channel.as_deref().filter(|channel| !channel.is_empty())
    }

    /// Whether a rollout is in progress.
    pub(super) fn is_updating(&self) -> bool {
        let status = self.cluster_version.status.as_ref();
        status.is_some_and(|status| status.conditions.is_true(progressing::TYPE))
    }

    /// Graph of the updates that ClusterVersion lists.
    pub fn listed(&self) -> Result<Graph, PlanError> {
        let Some(status) = &self.cluster_version.status else { return Err(PlanError::NoVersion) };
        // If the operator has retrieved updates and found none, the cluster has the latest release.
        let is_retrieved = status.conditions.is_true(retrieved_updates::TYPE);
        let known = is_retrieved.then(|| node(&status.desired)).flatten();
        let current = known.unwrap_or(Node::without_release(self.version()?));
        let plain = status.available_updates.iter().flatten().map(|release| (release, &[][..]));
        let conditional = status.conditional_updates.iter();
        let conditional = conditional.map(|update| (&update.release, update.risks.as_slice()));
        let updates = plain.chain(conditional).filter_map(|(release, risks)| {
            Some((node(release)?, risks.iter().map(|it| risk(it).into()).collect()))
        });
        Ok(Graph::from_updates(&current, updates))
    }

    pub(super) fn acceptance(&self) -> Acceptance {
        Acceptance::from_cluster_version(self.cluster_version)
    }

    /// Risks that the operator has reported.
    pub(super) fn previous(&self) -> PreviousEvaluation {
        self.cluster_version.status.as_ref().map(PreviousEvaluation::from).unwrap_or_default()
    }
}

fn risk(published: &ConditionalUpdateRisk) -> Risk {
    Risk {
        url: published.url.clone(),
        name: published.name.clone(),
        message: published.message.clone(),
        matching_rules: published.matching_rules.clone(),
        ..Risk::default()
    }
}

fn node(release: &Release) -> Option<Node> {
    let version = Version::parse(&release.version).ok()?.without_build();
    let channels = (!release.channels.is_empty()).then(|| release.channels.join(","));
    let channels = channels.map(|list| (fairway_graph::graph::key::CHANNELS.to_owned(), list));
    let metadata = channels.into_iter().collect();
    let release = fairway_graph::graph::Release { payload: release.image.clone(), metadata };
    Some(Node { release: Some(release), ..Node::without_release(version) })
}
