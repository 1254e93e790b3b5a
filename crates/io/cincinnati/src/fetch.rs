//! Queries the update service over HTTP.

use std::time::Duration;

use fairway_api::cluster_version::ClusterVersionSpec;
use fairway_api::reason::{Reason, retrieved_updates};
use fairway_graph::cincinnati::{GraphReadError, MAX_BYTES};
use fairway_graph::{Graph, cincinnati};
use fairway_http::{Proxies, with_host_ca_bundle};
use fairway_text::place;
use http::header::{ACCEPT, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, StatusCode};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client, Proxy, Response};
use rustls::pki_types::CertificateDer;

use crate::connection::{ConnectionError, ConnectionSettings};
use crate::query::{self, GraphQuery, QueryError, RunningRelease, UpdateServices};
use crate::{cause, excerpt};

/// User agent of operators, as in the Go operator.
const USER_AGENT: &str = concat!("ClusterVersionOperator/", env!("CARGO_PKG_VERSION"));

/// Redirects of a request: a load balancer, a move, and some in reserve.
const MAX_REDIRECTS: usize = 5;

/// Timeouts of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchTimeouts {
    /// For connecting.
    pub connect: Duration,
    /// Between two chunks.
    pub silence: Duration,
    /// For the complete response.
    pub answer: Duration,
}

impl Default for FetchTimeouts {
    fn default() -> Self {
        Self {
            // Two lost packets and a slow handshake.
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(15),
            // The largest real graph at 200 KiB per second.
            answer: Duration::from_mins(1),
        }
    }
}

/// Result of a query.
#[derive(Debug)]
pub enum Fetched {
    /// 304: the known response is current.
    Unchanged,
    /// A new response.
    Body {
        /// The body.
        bytes: Vec<u8>,
        /// The entity tag.
        tag: Option<HeaderValue>,
    },
}

/// A failed query.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains it")]
pub enum FetchError {
    #[error("cannot create a request to {service}: {why}")]
    Request { service: String, why: String },
    #[error(transparent)]
    Route(#[from] ConnectionError),
    #[error("cannot reach {service}: {why}")]
    Remote { service: String, why: String },
    #[error("{service} returned HTTP status {status}")]
    Status { service: String, status: StatusCode },
    #[error("cannot read the response of {service}: {why}")]
    Body { service: String, why: String },
    #[error("the response of {service} exceeds {} MiB", MAX_BYTES >> 20)]
    TooLarge { service: String },
    #[error("{why}")]
    Invalid { why: String },
}

impl FetchError {
    /// The reason for the condition.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Request { .. } => retrieved_updates::INVALID_REQUEST,
            Self::Route(_) | Self::Remote { .. } => retrieved_updates::REMOTE_FAILED,
            Self::Status { .. } | Self::Body { .. } => retrieved_updates::RESPONSE_FAILED,
            Self::TooLarge { .. } | Self::Invalid { .. } => retrieved_updates::RESPONSE_INVALID,
        }
    }

    /// A response that is not a valid graph.
    pub fn unreadable(error: GraphReadError) -> Self {
        let why = match error {
            GraphReadError::Malformed { input, why } => {
                format!("{input} is not an update graph: {why}")
            }
            too_large @ GraphReadError::TooLarge { .. } => too_large.to_string(),
        };
        Self::Invalid { why: excerpt(&why).into_owned() }
    }

    /// Whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        !matches!(self, Self::Request { .. })
    }
}

/// Creates a client for these connection settings.
pub fn client(
    settings: &ConnectionSettings,
    timeouts: &FetchTimeouts,
) -> Result<Client, FetchError> {
    client_with(settings.proxies()?, settings.ca_certificates()?, timeouts)
}

/// Creates a client with these proxies, and with this CA bundle or that of the host.
pub fn client_with(
    proxies: Proxies,
    ca_certificates: Option<Vec<CertificateDer<'static>>>,
    timeouts: &FetchTimeouts,
) -> Result<Client, FetchError> {
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        // A referer would reveal the cluster ID to other services.
        .referer(false)
        .redirect(Policy::custom(redirect_policy))
        .connect_timeout(timeouts.connect)
        .read_timeout(timeouts.silence)
        .timeout(timeouts.answer)
        // Servers close idle connections before the next query.
        .pool_max_idle_per_host(0)
        .no_proxy()
        .proxy(Proxy::custom(move |url| proxies.of(url).cloned()));
    let builder = match ca_certificates {
        Some(ca_certificates) => {
            let certificates = ca_certificates.iter().map(|der| Certificate::from_der(der));
            let certificates = certificates.collect::<Result<Vec<_>, _>>();
            builder.tls_certs_only(certificates.map_err(|_| ConnectionError::CaBundle)?)
        }
        None => with_host_ca_bundle(builder),
    };
    builder.build().map_err(|error| FetchError::Request {
        service: "the update service".to_owned(),
        why: cause(&error),
    })
}

/// Redirect policy: limits the number, and refuses redirects from TLS to plain HTTP.
fn redirect_policy(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("too many redirects");
    }
    let came_by_tls = attempt.previous().iter().any(|url| url.scheme() == "https");
    if came_by_tls && attempt.url().scheme() != "https" {
        let to = place(attempt.url());
        return attempt.error(format!("redirected to {to}, which does not use TLS"));
    }
    attempt.follow()
}

/// Queries the update service. `tag` is the entity tag of the known response.
pub async fn fetch(
    client: &Client,
    query: &GraphQuery,
    tag: Option<HeaderValue>,
) -> Result<Fetched, FetchError> {
    let service = query.service();
    let known = tag.is_some();
    let mut request = client.get(query.url.clone()).header(ACCEPT, "application/json");
    if let Some(tag) = tag {
        request = request.header(IF_NONE_MATCH, tag);
    }
    let response = request.send().await.map_err(|error| {
        let (service, why) = (service.clone(), cause(&error));
        if error.is_builder() {
            FetchError::Request { service, why }
        } else {
            FetchError::Remote { service, why }
        }
    })?;
    match response.status() {
        StatusCode::OK => {
            let tag = response.headers().get(ETAG).cloned();
            Ok(Fetched::Body { bytes: body(response, service).await?, tag })
        }
        StatusCode::NOT_MODIFIED if known => Ok(Fetched::Unchanged),
        status => Err(FetchError::Status { service, status }),
    }
}

/// Reads the body up to the limit. `Content-Length` is not trusted.
async fn body(mut response: Response, service: String) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(bytes),
            Ok(Some(chunk)) if bytes.len() + chunk.len() > MAX_BYTES => {
                return Err(FetchError::TooLarge { service });
            }
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Err(error) => return Err(FetchError::Body { service, why: cause(&error) }),
        }
    }
}

/// A graph and the service that returned it.
#[derive(Debug)]
pub struct FetchedGraph {
    /// URL of the service without query.
    pub service: String,
    /// The graph.
    pub graph: Graph,
}

/// A failed query.
#[derive(Debug, thiserror::Error)]
pub enum FetchOnceError {
    /// The query cannot be built.
    #[error("{0}")]
    Question(String),
    /// The service returned no graph.
    #[error("{0}")]
    Answer(String),
}

impl From<QueryError> for FetchOnceError {
    fn from(refusal: QueryError) -> Self {
        Self::Question(refusal.to_string())
    }
}

impl From<FetchError> for FetchOnceError {
    fn from(failure: FetchError) -> Self {
        Self::Answer(failure.to_string())
    }
}

/// Queries the update service of a cluster once, with the proxy settings of this process.
pub async fn fetch_once(
    spec: &ClusterVersionSpec,
    current: &RunningRelease,
    services: &UpdateServices,
    timeouts: &FetchTimeouts,
) -> Result<FetchedGraph, FetchOnceError> {
    let query = query::build_query(spec, current, services)?;
    let proxies =
        Proxies::of_environment().map_err(|error| FetchOnceError::Question(error.to_string()))?;
    let client = client_with(proxies, None, timeouts)?;
    let service = query.service();
    let Fetched::Body { bytes, .. } = fetch(&client, &query, None).await? else {
        return Err(FetchOnceError::Answer(format!("{service} returned no graph")));
    };
    let name = format!("the response of {service}");
    let (graph, _) = cincinnati::read(&name, &bytes).map_err(FetchError::unreadable)?;
    Ok(FetchedGraph { service, graph })
}
