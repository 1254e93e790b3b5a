//! What the update service offers this cluster.
//!
//! [`fairway_cincinnati`] asks. `timing` says when, `memory` for how long an answer stands,
//! `inherited` what stands before there is one, and `retrieved` how people are told. [`run`] sleeps
//! until a question is due or something changes.

mod inherited;
mod inputs;
mod memory;
mod retrieved;
mod run;
mod timing;

pub(crate) use fairway_api::image::same_content;
pub use inputs::Inputs;
pub(crate) use inputs::bundle;
pub use run::run;
pub use timing::Pace;

use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_api::{OperatorCondition, Version};
use fairway_cincinnati::fetch::Patience;
use fairway_cincinnati::question::Services;
use fairway_cincinnati::release;
use fairway_graph::Graph;
use fairway_risk::Candidate;
use jiff::Timestamp;

/// What the update service offers.
#[derive(Clone, Debug, Default)]
pub struct Updates {
    /// The generation of the ClusterVersion that was looked at.
    pub generation: i64,
    /// The digest of the graph; empty where there is none.
    pub graph_digest: String,
    /// All of the graph, not only what can be reached from here.
    pub graph: Arc<Graph>,
    /// The updates of this cluster, the latest first.
    pub candidates: Arc<[Candidate]>,
    /// The condition `RetrievedUpdates`, without its time.
    pub retrieved: OperatorCondition,
    /// When the update service last gave or confirmed this answer. Nobody is woken up when only
    /// this changes.
    pub fresh: Option<Timestamp>,
}

impl Updates {
    /// What the update service says about the release of that image.
    pub(crate) fn described(&self, image: &str) -> Option<Release> {
        let node = self.graph.nodes().iter().find(|node| {
            node.release.as_ref().is_some_and(|release| same_content(&release.payload, image))
        })?;
        let release = release::release(node, &mut Vec::new()).ok()?;
        Some(Release { image: image.to_owned(), ..release })
    }

    /// Every release of that version that the update service knows, however it may be reached.
    pub(crate) fn releases(&self, version: &str) -> Vec<Release> {
        let Ok(version) = Version::parse(version) else { return Vec::new() };
        let found = self.graph.find(&version).map(|id| self.graph.node(id));
        found.filter_map(|node| release::release(node, &mut Vec::new()).ok()).collect()
    }

    /// Whether the update service knows the version, however it may be reached.
    pub(crate) fn knows(&self, version: &str) -> bool {
        Version::parse(version).is_ok_and(|version| self.graph.find(&version).next().is_some())
    }

    /// Whether both say the same, whenever it was said. Equal candidates are the same ones: they
    /// are made once from each graph.
    fn says_the_same(&self, other: &Self) -> bool {
        let both_empty = self.candidates.is_empty() && other.candidates.is_empty();
        self.generation == other.generation
            && self.graph_digest == other.graph_digest
            && self.retrieved == other.retrieved
            && (both_empty || Arc::ptr_eq(&self.candidates, &other.candidates))
    }
}

/// How the update service is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which one is asked.
    pub services: Services,
    /// How often.
    pub pace: Pace,
    /// For how long it is waited for.
    pub patience: Patience,
}
