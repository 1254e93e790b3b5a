//! Asking the update service: the one place of this stage that uses the network.

use std::time::Duration;

use fairway_api::reason::{Reason, retrieved_updates};
use fairway_graph::wire::{MAX_BYTES, WireError};
use fairway_http::{Proxies, trusting_this_machine};
use http::header::{ACCEPT, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, StatusCode};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client, Proxy, Response};
use rustls::pki_types::CertificateDer;

use crate::question::Question;
use crate::route::{Route, RouteError};
use crate::text::{cause, excerpt, place};

/// How the update service knows operators.
const USER_AGENT: &str = concat!("ClusterVersionOperator/", env!("CARGO_PKG_VERSION"));

/// Redirects that are followed: a balancer, a move, and some to spare.
const MOST_REDIRECTS: usize = 5;

/// For how long the update service is waited for. Nothing else waits meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes.
    pub silence: Duration,
    /// For the whole answer.
    pub answer: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            // Two lost packets and a slow handshake.
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(15),
            // The largest real graph at 200 KiB a second.
            answer: Duration::from_mins(1),
        }
    }
}

/// What the update service sent.
#[derive(Debug)]
pub enum Fetched {
    /// What was known is still so.
    Unchanged,
    /// An answer.
    Body {
        /// Its JSON.
        bytes: Vec<u8>,
        /// What the service calls this answer.
        tag: Option<HeaderValue>,
    },
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains it")]
pub enum Failure {
    #[error("cannot create a request to {service}: {why}")]
    Request { service: String, why: String },
    #[error(transparent)]
    Route(#[from] RouteError),
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

impl Failure {
    /// What a condition has for it.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Request { .. } => retrieved_updates::INVALID_REQUEST,
            Self::Route(_) | Self::Remote { .. } => retrieved_updates::REMOTE_FAILED,
            Self::Status { .. } | Self::Body { .. } => retrieved_updates::RESPONSE_FAILED,
            Self::TooLarge { .. } | Self::Invalid { .. } => retrieved_updates::RESPONSE_INVALID,
        }
    }

    /// The answer is there, but not to be understood.
    pub fn unreadable(error: WireError) -> Self {
        let why = match error {
            WireError::Malformed { input, why } => format!("{input} is not an update graph: {why}"),
            too_large @ WireError::TooLarge { .. } => too_large.to_string(),
        };
        Self::Invalid { why: excerpt(&why).into_owned() }
    }

    /// Whether the same question may be answered later.
    pub fn may_pass(&self) -> bool {
        !matches!(self, Self::Request { .. })
    }
}

/// A client that takes a route.
pub fn client(route: &Route, patience: &Patience) -> Result<Client, Failure> {
    through(route.proxies()?, route.authorities()?, patience)
}

/// A client that takes these proxies, and trusts these authorities or those of this machine.
pub fn through(
    proxies: Proxies,
    authorities: Option<Vec<CertificateDer<'static>>>,
    patience: &Patience,
) -> Result<Client, Failure> {
    let builder = Client::builder()
        .user_agent(USER_AGENT)
        // It would tell other services the identity of the cluster.
        .referer(false)
        .redirect(Policy::custom(redirected))
        .connect_timeout(patience.connect)
        .read_timeout(patience.silence)
        .timeout(patience.answer)
        // The next request comes when servers have long closed the connection.
        .pool_max_idle_per_host(0)
        .no_proxy()
        .proxy(Proxy::custom(move |url| proxies.of(url).cloned()));
    let builder = match authorities {
        Some(authorities) => {
            let certificates = authorities.iter().map(|der| Certificate::from_der(der));
            let certificates = certificates.collect::<Result<Vec<_>, _>>();
            builder.tls_certs_only(certificates.map_err(|_| RouteError::Authorities)?)
        }
        None => trusting_this_machine(builder),
    };
    builder.build().map_err(|error| Failure::Request {
        service: "the update service".to_owned(),
        why: cause(&error),
    })
}

/// Nobody is led in circles, or from TLS to where everybody can read and change what is said.
fn redirected(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.previous().len() > MOST_REDIRECTS {
        return attempt.error("too many redirects");
    }
    let came_by_tls = attempt.previous().iter().any(|url| url.scheme() == "https");
    if came_by_tls && attempt.url().scheme() != "https" {
        let to = place(attempt.url());
        return attempt.error(format!("redirect to {to} without TLS refused"));
    }
    attempt.follow()
}

/// Asks. `tag` is that of the answer that is known.
pub async fn fetch(
    client: &Client,
    question: &Question,
    tag: Option<HeaderValue>,
) -> Result<Fetched, Failure> {
    let service = question.service();
    let known = tag.is_some();
    let mut request = client.get(question.url.clone()).header(ACCEPT, "application/json");
    if let Some(tag) = tag {
        request = request.header(IF_NONE_MATCH, tag);
    }
    let response = request.send().await.map_err(|error| {
        let (service, why) = (service.clone(), cause(&error));
        if error.is_builder() {
            Failure::Request { service, why }
        } else {
            Failure::Remote { service, why }
        }
    })?;
    match response.status() {
        StatusCode::OK => {
            let tag = response.headers().get(ETAG).cloned();
            Ok(Fetched::Body { bytes: body(response, service).await?, tag })
        }
        StatusCode::NOT_MODIFIED if known => Ok(Fetched::Unchanged),
        status => Err(Failure::Status { service, status }),
    }
}

/// The whole answer, if it is not too large. What a service announces is not believed.
async fn body(mut response: Response, service: String) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(bytes),
            Ok(Some(chunk)) if bytes.len() + chunk.len() > MAX_BYTES => {
                return Err(Failure::TooLarge { service });
            }
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Err(error) => return Err(Failure::Body { service, why: cause(&error) }),
        }
    }
}
