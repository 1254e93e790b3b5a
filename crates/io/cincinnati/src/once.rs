//! Asking an update service once, for those who look ahead: the same question, by the way of the
//! machine that asks.

use fairway_api::cluster_version::ClusterVersionSpec;
use fairway_graph::{Graph, wire};
use fairway_http::Proxies;

use crate::fetch::{self, Failure, Fetched, Patience};
use crate::question::Current;
use crate::question::{self, Refusal, Services};

/// What an update service said.
#[derive(Debug)]
pub struct Told {
    /// The service, without what was asked.
    pub service: String,
    /// Its graph.
    pub graph: Graph,
}

/// Why nothing was said.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is nothing to ask.
    #[error("{0}")]
    Question(String),
    /// There is no answer.
    #[error("{0}")]
    Answer(String),
}

impl From<Refusal> for AskError {
    fn from(refusal: Refusal) -> Self {
        Self::Question(refusal.to_string())
    }
}

impl From<Failure> for AskError {
    fn from(failure: Failure) -> Self {
        Self::Answer(failure.to_string())
    }
}

/// Asks the update service of a cluster for the channel in its spec.
pub async fn ask_once(
    spec: &ClusterVersionSpec,
    current: &Current,
    services: &Services,
    patience: &Patience,
) -> Result<Told, AskError> {
    let question = question::ask(spec, current, services)?;
    let proxies =
        Proxies::of_environment().map_err(|error| AskError::Question(error.to_string()))?;
    let client = fetch::through(proxies, None, patience)?;
    let service = question.service();
    let Fetched::Body { bytes, .. } = fetch::fetch(&client, &question, None).await? else {
        return Err(AskError::Answer(format!("{service} returned no graph")));
    };
    let name = format!("the response of {service}");
    let (graph, _) = wire::read(&name, &bytes).map_err(Failure::unreadable)?;
    Ok(Told { service, graph })
}
