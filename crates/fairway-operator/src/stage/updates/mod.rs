//! What the update service offers this cluster.
//!
//! `question` is what there is to ask, `timing` when, `route` and `fetch` how; `answer`
//! says what the answer means, `memory` for how long it stands, and `retrieved` how people
//! are told. [`run`] sleeps until a question is due or something changes.

mod answer;
mod fetch;
mod inputs;
mod memory;
mod metrics;
mod no_proxy;
mod problem;
mod question;
mod release;
mod retrieved;
mod route;
mod run;
mod text;
mod timing;

pub use fetch::Patience;
pub use inputs::{Current, Inputs};
pub use metrics::Metrics;
pub use question::Services;
pub use run::run;
pub use timing::Pace;

use std::sync::Arc;

use fairway_api::OperatorCondition;
use fairway_graph::Graph;
use fairway_risk::Candidate;
use jiff::Timestamp;

/// What the update service offers.
#[derive(Clone, Debug)]
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

impl Default for Updates {
    fn default() -> Self {
        Self {
            generation: 0,
            graph_digest: String::new(),
            graph: Arc::default(),
            candidates: Arc::default(),
            retrieved: retrieved::not_yet(),
            fresh: None,
        }
    }
}

impl Updates {
    /// Whether both say the same, whenever it was said.
    fn says_the_same(&self, other: &Self) -> bool {
        self.generation == other.generation
            && self.graph_digest == other.graph_digest
            && self.retrieved == other.retrieved
            && self.candidates == other.candidates
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
