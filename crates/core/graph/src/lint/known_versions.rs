//! Known versions and the updates between them.

use std::collections::BTreeSet;

use fairway_api::Version;

use crate::data::GraphData;
use crate::graph::{ARCHITECTURES, Graph, NodeId};

/// Versions of the releases, or of the channels if the releases are unknown.
pub(super) struct KnownVersions<'a> {
    /// Versions without architectures.
    pub(super) known: BTreeSet<Version>,
    updates: Updates<'a>,
}

/// Sources of the updates to a version, as strings with architectures, to which patterns are
/// applied.
enum Updates<'a> {
    /// Updates that releases declare.
    Declared { graph: &'a Graph, written: Vec<String>, parents: Vec<Vec<NodeId>> },
    /// Without declared releases: updates are assumed from all earlier versions that are at most
    /// one minor version behind. Sorted.
    Guessed(Vec<(Version, Vec<String>)>),
}

impl<'a> KnownVersions<'a> {
    pub(super) fn new(data: &GraphData, declared: Option<&'a Graph>) -> Self {
        let listed = data.channels.iter().flat_map(|channel| &channel.versions);
        let mut all: Vec<Version> = listed.map(|listed| listed.version.clone()).collect();
        if let Some(graph) = declared {
            all.extend(graph.nodes().iter().map(|node| node.version.clone()));
        }
        let known = all.iter().map(Version::without_build).collect();
        Self { known, updates: declared.map_or_else(|| guessed(all), declared_by) }
    }

    /// Whether the updates are declared by releases.
    pub(super) fn are_declared(&self) -> bool {
        matches!(self.updates, Updates::Declared { .. })
    }

    /// Whether a version exists, for any architecture unless it names one.
    pub(super) fn has(&self, version: &Version) -> bool {
        match &self.updates {
            Updates::Declared { graph, .. } => graph.find(version).next().is_some(),
            Updates::Guessed(_) => self.known.contains(version),
        }
    }

    /// All versions as strings; with assumed architectures, one string for each version.
    pub(super) fn written(&self) -> Vec<&str> {
        match &self.updates {
            Updates::Declared { written, .. } => written.iter().map(String::as_str).collect(),
            Updates::Guessed(all) => {
                all.iter().filter_map(|(_, written)| written.first()).map(String::as_str).collect()
            }
        }
    }

    /// Sources of the updates to a version, as strings.
    pub(super) fn leading_to(&self, version: &Version) -> Box<dyn Iterator<Item = &str> + '_> {
        match &self.updates {
            Updates::Declared { graph, written, parents } => {
                let targets: Vec<NodeId> = graph.find(version).collect();
                let parents = targets.into_iter().flat_map(|target| &parents[target.index()]);
                Box::new(parents.map(|parent| written[parent.index()].as_str()))
            }
            Updates::Guessed(all) => {
                let end = all.partition_point(|(source, _)| source < version);
                let start = all[..end].partition_point(|(source, _)| !may_lead_to(source, version));
                Box::new(
                    all[start..end].iter().flat_map(|(_, written)| written).map(String::as_str),
                )
            }
        }
    }
}

fn declared_by(graph: &Graph) -> Updates<'_> {
    let parents = graph.incoming();
    let written = graph.nodes().iter().map(|node| node.version.to_string()).collect();
    Updates::Declared { graph, written, parents }
}

fn guessed<'a>(mut all: Vec<Version>) -> Updates<'a> {
    all.sort_by(|one, other| one.cmp(other).then_with(|| one.build().cmp(other.build())));
    all.dedup_by(|one, other| one == other && one.build() == other.build());
    let written = |version: Version| (version.clone(), with_architectures(&version));
    Updates::Guessed(all.into_iter().map(written).collect())
}

/// Whether an earlier version is at most one minor version behind.
fn may_lead_to(from: &Version, to: &Version) -> bool {
    from.major() == to.major() && to.minor() - from.minor() <= 1
}

fn with_architectures(version: &Version) -> Vec<String> {
    if version.build().is_empty() {
        // Without declared releases, a version of a channel is assumed to exist for all of them.
        ARCHITECTURES.iter().map(|architecture| format!("{version}+{architecture}")).collect()
    } else {
        vec![version.to_string()]
    }
}
