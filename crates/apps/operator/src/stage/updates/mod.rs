//! The stage `updates`: retrieves the update graph, and publishes the candidates of this cluster.
//!
//! [`run()`] sleeps until a request is due or an input changes. [`fairway_cincinnati`] sends the
//! requests. Until the update service answers, the updates of the last status apply.
//!
//! | module | content |
//! | --- | --- |
//! | `run` | the loop of the stage |
//! | `schedule` | schedule of requests to the update service |
//! | `graph_cache` | the update graph and its expiry |
//! | `inherited` | updates of the last status |

mod graph_cache;
mod inherited;
mod run;
mod schedule;

pub(crate) use fairway_api::image::same_content;
pub(crate) use run::bundle;
pub use run::{Inputs, run};
pub use schedule::RequestIntervals;

use std::sync::Arc;

use fairway_api::cluster_version::Release;
use fairway_api::condition::wire_time;
use fairway_api::reason::{Reason, retrieved_updates};
use fairway_api::{OperatorCondition, Version};
use fairway_cincinnati::fetch::{FetchError, FetchTimeouts};
use fairway_cincinnati::query::{GraphQuery, QueryError, UpdateServices};
use fairway_cincinnati::response;
use fairway_graph::Graph;
use fairway_risk::CandidateUpdate;
use jiff::Timestamp;

use crate::text::excerpt;
use graph_cache::GRAPH_TTL;

/// The updates that the update service offers.
#[derive(Clone, Debug, Default)]
pub struct Updates {
    /// Generation of the ClusterVersion.
    pub generation: i64,
    /// Digest of the update graph; empty without a graph.
    pub graph_digest: String,
    /// The complete graph, including releases that cannot be reached from here.
    pub graph: Arc<Graph>,
    /// Updates of this cluster, the latest first.
    pub candidates: Arc<[CandidateUpdate]>,
    /// The condition `RetrievedUpdates`, without its time.
    pub retrieved: OperatorCondition,
    /// Time of the last response of the update service. Receivers are not woken when only this
    /// changes.
    pub fresh: Option<Timestamp>,
}

impl Updates {
    /// The release with the content of an image, as the update service describes it.
    pub(crate) fn described(&self, image: &str) -> Option<Release> {
        let node = self.graph.nodes().iter().find(|node| {
            node.release.as_ref().is_some_and(|release| same_content(&release.payload, image))
        })?;
        let release = response::release(node, &mut Vec::new()).ok()?;
        Some(Release { image: image.to_owned(), ..release })
    }

    /// All releases of a version in the graph.
    pub(crate) fn releases(&self, version: &str) -> Vec<Release> {
        let Ok(version) = Version::parse(version) else { return Vec::new() };
        let found = self.graph.find(&version).map(|id| self.graph.node(id));
        found.filter_map(|node| response::release(node, &mut Vec::new()).ok()).collect()
    }

    /// Whether the graph has a version.
    pub(crate) fn knows(&self, version: &str) -> bool {
        Version::parse(version).is_ok_and(|version| self.graph.find(&version).next().is_some())
    }

    /// Whether both are equal except for the time. Candidates are compared by pointer: they are made
    /// once for each graph.
    fn is_same_as(&self, other: &Self) -> bool {
        let both_empty = self.candidates.is_empty() && other.candidates.is_empty();
        self.generation == other.generation
            && self.graph_digest == other.graph_digest
            && self.retrieved == other.retrieved
            && (both_empty || Arc::ptr_eq(&self.candidates, &other.candidates))
    }
}

/// Settings of the stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Update services by channel.
    pub services: UpdateServices,
    /// Intervals of requests.
    pub pace: RequestIntervals,
    /// Timeouts of requests.
    pub timeouts: FetchTimeouts,
}

/// The graph is valid.
fn retrieved_condition() -> OperatorCondition {
    OperatorCondition::new(retrieved_updates::TYPE, true)
}

/// No query can be built from the spec.
fn refused_condition(refusal: &QueryError) -> OperatorCondition {
    not_retrieved(refusal.reason(), refusal.to_string())
}

/// Source of the updates that stay listed while the update service does not respond.
#[derive(Clone, Copy)]
enum KeptUpdates {
    /// Those of a graph of that time.
    Since(Timestamp),
    /// Those of the last status.
    Inherited { until: Timestamp },
}

/// The request failed; earlier updates may be kept.
fn failed_condition(failure: &FetchError, kept: Option<KeptUpdates>) -> OperatorCondition {
    let kept = match kept {
        None => String::new(),
        Some(KeptUpdates::Since(since)) => {
            let (since, until) = (wire_time(since).0, wire_time(since + GRAPH_TTL).0);
            format!(" The listed updates are from {since}; the operator drops them at {until}.")
        }
        Some(KeptUpdates::Inherited { until }) => {
            let until = wire_time(until).0;
            format!(
                " The listed updates are from before this operator started; it drops them at \
                 {until}."
            )
        }
    };
    let message = format!("Unable to retrieve available updates: {failure}.{kept}");
    not_retrieved(failure.reason(), message)
}

/// The graph does not have the running version.
fn version_not_found_condition(query: &GraphQuery, releases: usize) -> OperatorCondition {
    let GraphQuery { current, channel, .. } = query;
    let place = format!("channel {:?} of {}", excerpt(channel), query.service());
    let message = if releases == 0 {
        let of = query.architecture().map(|it| format!(" for {}", excerpt(&it)));
        format!(
            "Unable to retrieve available updates: {place} has no releases{}. Check its name, or \
             set another channel with `fairway upgrade channel CHANNEL`.",
            of.unwrap_or_default()
        )
    } else {
        format!(
            "Unable to retrieve available updates: the running version {current} is not in \
             {place}. Set a channel that contains it with `fairway upgrade channel CHANNEL`."
        )
    };
    not_retrieved(retrieved_updates::VERSION_NOT_FOUND, message)
}

fn not_retrieved(reason: Reason, message: String) -> OperatorCondition {
    OperatorCondition::new(retrieved_updates::TYPE, false).reason(reason).message(message)
}
