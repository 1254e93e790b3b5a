//! Reasons why a version is not offered to a cluster.

use std::collections::BTreeSet;

use fairway_api::{UpdateDistance, Version};
use fairway_graph::analysis::{UpdateCause, UpdateState};
use fairway_graph::build::GraphBuilder;
use fairway_graph::{Graph, GraphData, NodeId, Scope};
use schemars::JsonSchema;
use serde::Serialize;

use super::channels::ChannelSet;
use super::path_search::{is_allowed, leap};

/// Source versions in `NoEdge`; more are not useful.
const MAX_SOURCE_VERSIONS: usize = 5;

/// Why a version is not offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "reason")]
pub enum NotOffered {
    /// The graph does not have the version of the cluster.
    UnknownCurrentVersion,
    /// The graph does not have the version.
    UnknownVersion,
    /// The version is older than that of the cluster.
    Older,
    /// The version is not in the channel of the cluster.
    NotInChannel {
        /// Channels that contain the version.
        channels: Vec<String>,
    },
    /// Graph-data removes the version from a channel.
    Tombstoned {
        /// Name of the channel.
        channel: String,
        /// File in graph-data.
        file: String,
    },
    /// Graph-data removes the update.
    Blocked {
        /// What removes the update.
        causes: Vec<UpdateCause>,
    },
    /// The graph has updates to the version, but none from the version of the cluster.
    NoEdge {
        /// Some source versions of updates to the version, latest first.
        from_versions: Vec<String>,
    },
    /// The operator refuses updates that span this many minor versions, or another major version.
    Guard {
        /// Difference of the minor versions, `null` if the major version differs.
        minor_distance: Option<u64>,
    },
}

/// Graph-data of the graph.
#[derive(Clone, Copy)]
pub struct GraphMaintenance<'a> {
    /// Declared updates and the blocked edges that remove them.
    pub draft: &'a GraphBuilder<'a>,
    /// Channels and blocked edges.
    pub data: &'a GraphData,
    /// Architecture of the cluster, if versions have one.
    pub architecture: Option<&'a str>,
}

/// Data that determines whether a version is offered.
pub(super) struct OfferLookup<'a> {
    pub(super) graph: &'a Graph,
    pub(super) channel_set: &'a ChannelSet,
    pub(super) maintenance: Option<GraphMaintenance<'a>>,
}

impl OfferLookup<'_> {
    /// Why an update is not offered, `None` if it is.
    pub(super) fn not_offered(&self, from: &Version, to: &Version) -> Option<NotOffered> {
        if to < from {
            return Some(NotOffered::Older);
        }
        let node = |version: &Version| self.graph.find(version).next();
        let Some(start) = node(from) else { return Some(NotOffered::UnknownCurrentVersion) };
        let Some(end) = node(to) else {
            return Some(self.tombstone(to).unwrap_or(NotOffered::UnknownVersion));
        };
        let channels: BTreeSet<&str> = self.graph.node(end).channels().collect();
        if let Some(current) = self.channel_set.current()
            && !channels.is_empty()
            && !channels.contains(current)
        {
            let channels = channels.into_iter().map(str::to_owned).collect();
            return Some(self.tombstone(to).unwrap_or(NotOffered::NotInChannel { channels }));
        }
        match self.graph.edge(start, end) {
            None => Some(self.blocked(from, to).unwrap_or_else(|| self.no_edge(end))),
            Some(edge) => match leap(self.graph, edge) {
                leap if is_allowed(leap) => None,
                UpdateDistance::TooFar { minors } => {
                    Some(NotOffered::Guard { minor_distance: Some(minors) })
                }
                _ => Some(NotOffered::Guard { minor_distance: None }),
            },
        }
    }

    fn tombstone(&self, version: &Version) -> Option<NotOffered> {
        let data = self.maintenance?.data;
        let current = self.channel_set.current();
        let mut channels = data.channels.iter().filter(|channel| {
            current.map_or_else(
                || self.channel_set.allow(&channel.name),
                |current| current == channel.name,
            )
        });
        let channel = channels
            .find(|channel| channel.tombstones.iter().any(|listed| listed.version == *version))?;
        let (channel, file) = (channel.name.clone(), channel.file.clone());
        Some(NotOffered::Tombstoned { channel, file })
    }

    fn blocked(&self, from: &Version, to: &Version) -> Option<NotOffered> {
        let GraphMaintenance { draft, architecture, .. } = self.maintenance?;
        let why = draft.explain(from, to, Scope { architecture, channel: None }).ok()?;
        match why.verdict {
            UpdateState::Removed { causes } => Some(NotOffered::Blocked { causes }),
            _ => None,
        }
    }

    fn no_edge(&self, to: NodeId) -> NotOffered {
        let edges = self.graph.edges().iter().rev().filter(|edge| edge.to == to);
        let versions = edges.map(|edge| self.graph.node(edge.from).version.to_string());
        NotOffered::NoEdge { from_versions: versions.take(MAX_SOURCE_VERSIONS).collect() }
    }
}
