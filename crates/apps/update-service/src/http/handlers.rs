//! Graphs, and what people ask about them.

use std::sync::Arc;

use fairway_api::Version;
use http::Request;
use tokio::time::Instant;

use super::query::Query;
use super::refusal::Refusal;
use super::route::Route;
use super::{Answer, accept, reply};
use crate::assemble::Assembly;
use crate::state::State;

/// The type of what [`graph_data`] sends.
const ARCHIVE: &str = "application/gzip";

/// What clusters of an architecture see of a channel.
pub(super) async fn graph<B>(
    state: &State,
    route: Route<'_>,
    request: &Request<B>,
) -> Result<Answer, Refusal> {
    let begun = Instant::now();
    match route {
        Route::V1Graph => state.metrics.v1_graph_requests.inc(),
        _ => state.metrics.graph_requests.inc(),
    };
    let headers = request.headers();
    let media_type = accept::media_type(headers).ok_or(Refusal::NotAcceptable)?;
    let query = Query::parse(request.uri().query());
    let (channel, architecture) = (query.channel()?, query.architecture()?);
    let assembly = served(state)?;
    let document = assembly.answers.graph(architecture, channel);
    let answer = reply::document(state, headers, document, media_type.name()).await;
    state.metrics.served(begun.elapsed());
    Ok(answer)
}

/// The channels of a version.
pub(super) async fn channels<B>(state: &State, request: &Request<B>) -> Result<Answer, Refusal> {
    let query = Query::parse(request.uri().query());
    let given = query.version()?;
    let version = Version::parse(given).map_err(|_| Refusal::InvalidVersion(given.to_owned()))?;
    let version = version.without_build().to_string();
    let architecture = query.given_architecture()?;
    let assembly = served(state)?;
    let document = assembly.answers.channels(&version, architecture);
    let document = document.ok_or_else(|| Refusal::DoesNotExist(format!("release {version}")))?;
    Ok(reply::document(state, request.headers(), document, reply::JSON).await)
}

/// The latest release of a channel.
pub(super) async fn latest<B>(state: &State, request: &Request<B>) -> Result<Answer, Refusal> {
    let query = Query::parse(request.uri().query());
    let (channel, architecture) = (query.channel()?, query.architecture()?);
    let assembly = served(state)?;
    let document = assembly.answers.latest(architecture, channel);
    let none = || Refusal::DoesNotExist(format!("release for {architecture} in channel {channel}"));
    let document = document.ok_or_else(none)?;
    Ok(reply::document(state, request.headers(), document, reply::JSON).await)
}

/// The graph-data that is in use.
pub(super) async fn graph_data<B>(state: &State, request: &Request<B>) -> Result<Answer, Refusal> {
    let assembly = served(state)?;
    Ok(reply::document(state, request.headers(), &assembly.archive, ARCHIVE).await)
}

fn served(state: &State) -> Result<Arc<Assembly>, Refusal> {
    state.served().ok_or(Refusal::NoGraph)
}
