//! Handlers of the endpoints: graphs, signatures, probes and metrics.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use fairway_api::Version;
use fairway_clock::now;
use http::{Request, StatusCode};
use serde::Serialize;
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;

use super::request::{Query, Route};
use super::response::{self, RequestError};
use super::{HttpResponse, negotiation};
use crate::published::PublishedGraph;
use crate::state::{ServiceStatus, State};

/// Media type of the response of [`graph_data`].
const ARCHIVE: &str = "application/gzip";

/// Handles requests for the graph of a channel and an architecture.
pub(super) async fn graph<B>(
    state: &State,
    route: Route<'_>,
    request: &Request<B>,
) -> Result<HttpResponse, RequestError> {
    let begun = Instant::now();
    match route {
        Route::V1Graph => state.metrics.v1_graph_requests.inc(),
        _ => state.metrics.graph_requests.inc(),
    };
    let headers = request.headers();
    let media_type = negotiation::media_type(headers).ok_or(RequestError::NotAcceptable)?;
    let query = Query::parse(request.uri().query());
    let (channel, architecture) = (query.channel()?, query.architecture()?);
    let published = served(state)?;
    let body = published.responses.graph(architecture, channel);
    let response = response::document(state, headers, body, media_type.name()).await;
    state.metrics.served(begun.elapsed());
    Ok(response)
}

/// Handles requests for the channels of a version.
pub(super) async fn channels<B>(
    state: &State,
    request: &Request<B>,
) -> Result<HttpResponse, RequestError> {
    let query = Query::parse(request.uri().query());
    let given = query.version()?;
    let version =
        Version::parse(given).map_err(|_| RequestError::InvalidVersion(given.to_owned()))?;
    let version = version.without_build().to_string();
    let architecture = query.given_architecture()?;
    let published = served(state)?;
    let document = published.responses.channels(&version, architecture);
    let document =
        document.ok_or_else(|| RequestError::DoesNotExist(format!("release {version}")))?;
    Ok(response::document(state, request.headers(), document, response::JSON).await)
}

/// Handles requests for the latest release of a channel.
pub(super) async fn latest<B>(
    state: &State,
    request: &Request<B>,
) -> Result<HttpResponse, RequestError> {
    let query = Query::parse(request.uri().query());
    let (channel, architecture) = (query.channel()?, query.architecture()?);
    let published = served(state)?;
    let document = published.responses.latest(architecture, channel);
    let none =
        || RequestError::DoesNotExist(format!("release for {architecture} in channel {channel}"));
    let document = document.ok_or_else(none)?;
    Ok(response::document(state, request.headers(), document, response::JSON).await)
}

/// Handles requests for the archive of the graph-data in use.
pub(super) async fn graph_data<B>(
    state: &State,
    request: &Request<B>,
) -> Result<HttpResponse, RequestError> {
    let published = served(state)?;
    Ok(response::document(state, request.headers(), &published.archive, ARCHIVE).await)
}

fn served(state: &State) -> Result<Arc<PublishedGraph>, RequestError> {
    state.served().ok_or(RequestError::NoGraph)
}

/// Bytes of a signature: some hundred, or some thousand with certificates.
const MAX_SIGNATURE: u64 = 64 << 10;

/// Characters of a SHA-256 digest.
const DIGEST_LENGTH: usize = 64;

const BINARY: &str = "application/octet-stream";

/// Handles requests for a signature of a release image.
pub(super) async fn signature(
    state: &State,
    algorithm: &str,
    digest: &str,
    name: &str,
) -> Result<HttpResponse, RequestError> {
    let missing = || RequestError::DoesNotExist(format!("{name} for {algorithm}={digest}"));
    let directory = state.settings.signatures.as_ref().ok_or_else(missing)?;
    if !is_signature(algorithm, digest, name) {
        return Err(missing());
    }
    // In the layout of graph-data, or of signature stores.
    for place in [format!("{algorithm}/{digest}"), format!("{algorithm}={digest}")] {
        let path = directory.join(place).join(name);
        match read(&path).await {
            Ok(bytes) => return Ok(response::uncached(StatusCode::OK, BINARY, bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::error!(path = %path.display(), %error, "cannot read signature");
                return Err(RequestError::File);
            }
        }
    }
    Err(missing())
}

/// Reads a regular file: opening anything else may block forever.
async fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !tokio::fs::metadata(path).await?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    let file = tokio::fs::File::open(path).await?;
    let size = file.take(MAX_SIGNATURE + 1).read_to_end(&mut bytes).await?;
    if size as u64 > MAX_SIGNATURE { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// Whether the path names a signature. Such a path cannot leave the directory.
fn is_signature(algorithm: &str, digest: &str, name: &str) -> bool {
    let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let number = name.strip_prefix("signature-").unwrap_or_default();
    algorithm == "sha256"
        && digest.len() == DIGEST_LENGTH
        && digest.bytes().all(hexadecimal)
        && (1..=4).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Quarantined inputs in the status. Real graph-data has none.
const MAX_LISTED_QUARANTINED: usize = 1_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    ready: bool,
    /// Time since the sources were last confirmed.
    age_seconds: Option<i64>,
    #[serde(flatten)]
    status: ServiceStatus,
    /// Number of quarantined inputs that are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_quarantined: Option<usize>,
}

/// A serialized status, shared by all requests of the same second: it may be long, and requests may
/// be many.
pub(crate) struct CachedStatus {
    of: Arc<ServiceStatus>,
    ready: bool,
    age_seconds: Option<i64>,
    text: Bytes,
}

/// Liveness: the process responds.
pub(super) fn health() -> HttpResponse {
    response::uncached(StatusCode::OK, TEXT, "ok\n".to_owned())
}

/// Readiness: a graph is published and the service is not shutting down. Old data is better than
/// none.
pub(super) fn ready(state: &State) -> HttpResponse {
    if state.is_shutting_down() {
        return unready("stopping\n".to_owned());
    }
    if state.served().is_none() {
        let problem = state.status().problem().unwrap_or_else(|| "reading the sources".to_owned());
        return unready(format!("no update graph available yet: {problem}\n"));
    }
    health()
}

fn unready(why: String) -> HttpResponse {
    response::uncached(StatusCode::SERVICE_UNAVAILABLE, TEXT, why)
}

pub(super) fn status(state: &State) -> HttpResponse {
    let status = state.status();
    let age_seconds =
        status.graph.as_ref().map(|graph| now().as_second() - graph.confirmed.as_second());
    let ready = status.graph.is_some() && !state.is_shutting_down();
    let is_this = |cached_status: &&Arc<CachedStatus>| {
        Arc::ptr_eq(&cached_status.of, &status)
            && (cached_status.ready, cached_status.age_seconds) == (ready, age_seconds)
    };
    if let Some(cached_status) = state.cached_status.load().as_ref().filter(is_this) {
        return response::uncached(StatusCode::OK, response::JSON, cached_status.text.clone());
    }
    let text = Bytes::from(write(&status, ready, age_seconds));
    let cached_status = CachedStatus { of: status, ready, age_seconds, text: text.clone() };
    state.cached_status.store(Some(Arc::new(cached_status)));
    response::uncached(StatusCode::OK, response::JSON, text)
}

fn write(status: &ServiceStatus, ready: bool, age_seconds: Option<i64>) -> String {
    let more = status.quarantined.len().saturating_sub(MAX_LISTED_QUARANTINED);
    let mut status = status.clone();
    status.quarantined.truncate(MAX_LISTED_QUARANTINED);
    let more_quarantined = (more > 0).then_some(more);
    let report = Report { ready, age_seconds, status, more_quarantined };
    serde_json::to_string_pretty(&report).expect("strings and numbers always serialize") + "\n"
}

pub(super) fn metrics(state: &State) -> HttpResponse {
    response::uncached(StatusCode::OK, OPEN_METRICS, state.metrics.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{QuarantineKind, Quarantined};

    #[test]
    fn write_status_limits_quarantined_inputs() {
        let quarantined =
            |number| Quarantined { kind: QuarantineKind::File, why: format!("file {number}") };
        let quarantined = (0..MAX_LISTED_QUARANTINED + 5).map(quarantined).collect();
        let status = ServiceStatus { quarantined, ..ServiceStatus::default() };
        let text = write(&status, true, Some(3));
        assert!(text.contains("file 999") && !text.contains("file 1000"), "{text}");
        assert!(text.contains("\"moreQuarantined\": 5"), "{text}");
        insta::assert_snapshot!(write(&ServiceStatus::default(), false, None), @r#"
        {
          "ready": false,
          "ageSeconds": null,
          "graph": null,
          "held": null,
          "quarantined": [],
          "sources": []
        }
        "#);
    }

    #[test]
    fn is_signature_with_other_paths_returns_false() {
        let digest = "ab".repeat(32);
        assert!(is_signature("sha256", &digest, "signature-1"));
        for (algorithm, digest, name) in [
            ("sha256", "../x", "signature-1"),
            ("..", digest.as_str(), "signature-1"),
            ("sha256", &digest, "signature-"),
            ("sha256", &digest, "signature-1/../2"),
            ("sha256", &digest.to_uppercase(), "signature-1"),
            ("sha256", &digest[1..], "signature-1"),
            ("sha512", &digest, "signature-1"),
        ] {
            assert!(!is_signature(algorithm, digest, name), "{algorithm} {digest} {name}");
        }
    }
}
