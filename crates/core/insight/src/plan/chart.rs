//! What a plan is made from: what a cluster says, and which updates there are.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{ConditionalUpdateRisk, Release};
use fairway_api::reason::{progressing, retrieved_updates};
use fairway_api::{ClusterOperator, ClusterVersion, Conditions as _, Version};
use fairway_graph::{Graph, Node, Risk};
use fairway_risk::{Acceptance, Outcomes, Previous};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::concerns::Gates;
use super::why::Maintained;

/// What a cluster says, as far as a plan depends on it.
pub struct Outlook<'a> {
    /// Its version, what is accepted, and what the operator has found out.
    pub cluster_version: &'a ClusterVersion,
    /// The components of the platform.
    pub components: &'a [ClusterOperator],
    /// Why components could not be listed.
    pub unlisted: Option<&'a str>,
    /// What administrators are asked to confirm.
    pub gates: &'a Gates,
    /// What queries have yielded.
    pub outcomes: &'a Outcomes,
    /// The time.
    pub now: Timestamp,
}

/// The updates that there are.
#[derive(Clone, Copy)]
pub struct Chart<'a> {
    /// The graph, for the architecture of the cluster.
    pub graph: &'a Graph,
    /// Where it is from.
    pub graph_source: &'a GraphSource,
    /// What its maintainers know about it.
    pub maintained: Option<Maintained<'a>>,
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
    /// ClusterVersion, which only lists the next updates.
    ClusterVersion {
        /// Why there is no other source.
        message: String,
    },
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Nobody knows where it would begin.
    #[error("the version of the cluster is unknown")]
    NoVersion,
}

impl Outlook<'_> {
    /// The version that the cluster has, or is on its way to.
    pub fn version(&self) -> Result<Version, PlanError> {
        let status = self.cluster_version.status.as_ref().ok_or(PlanError::NoVersion)?;
        let version = Version::parse(&status.desired.version).map_err(|_| PlanError::NoVersion)?;
        Ok(version.without_build())
    }

    /// The channel that it follows.
    pub fn channel(&self) -> Option<&str> {
        self.cluster_version.spec.channel.as_deref().filter(|channel| !channel.is_empty())
    }

    /// Whether it is on its way to that version.
    pub(super) fn is_updating(&self) -> bool {
        let status = self.cluster_version.status.as_ref();
        status.is_some_and(|status| status.conditions.is_true(progressing::TYPE))
    }

    /// The graph of what ClusterVersion lists.
    pub fn listed(&self) -> Result<Graph, PlanError> {
        let Some(status) = &self.cluster_version.status else { return Err(PlanError::NoVersion) };
        // Where somebody has looked and found nothing later, the cluster has the latest.
        let is_retrieved = status.conditions.is_true(retrieved_updates::TYPE);
        let known = is_retrieved.then(|| node(&status.desired)).flatten();
        let here = known.unwrap_or(Node::named(self.version()?));
        let plain = status.available_updates.iter().flatten().map(|release| (release, &[][..]));
        let conditional = status.conditional_updates.iter();
        let conditional = conditional.map(|update| (&update.release, update.risks.as_slice()));
        let updates = plain.chain(conditional).filter_map(|(release, risks)| {
            Some((node(release)?, risks.iter().map(|it| risk(it).into()).collect()))
        });
        Ok(Graph::around(&here, updates))
    }

    pub(super) fn acceptance(&self) -> Acceptance {
        Acceptance::of(self.cluster_version)
    }

    pub(super) fn previous(&self) -> Previous {
        self.cluster_version.status.as_ref().map(Previous::from).unwrap_or_default()
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
    Some(Node { release: Some(release), ..Node::named(version) })
}
