//! Prometheus, or Thanos before several of them.

use std::net::IpAddr;
use std::time::Duration;

use fairway_risk::Answer;
use http::header::AUTHORIZATION;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use reqwest::Response;
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;

use super::client::{self, Basis, ClientError};
use super::reply::{self, ReplyError};
use crate::metrics;
use crate::settings::PrometheusSettings;
use crate::text::excerpt;

/// Bytes of an answer: one sample is expected. Alerts of a large and troubled cluster have some
/// hundred KiB.
const MAX_BYTES: usize = 4 << 20;

/// Where Thanos answers queries of those who show a token.
const PORT: u16 = 9091;

/// Looking up a Service is one request to the API server.
const LOOKUP: Duration = Duration::from_secs(5);

/// Why the server did not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("invalid server name {name:?}")]
    NoName { name: String, source: url::ParseError },
    #[error("cannot get Service {namespace}/{name}")]
    NoService { namespace: String, name: String, source: kube::Error },
    #[error("cannot get Service {namespace}/{name}: timed out after {} seconds", LOOKUP.as_secs())]
    NoAnswer { namespace: String, name: String },
    #[error("Service {namespace}/{name} has no cluster IP")]
    NoAddress { namespace: String, name: String },
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the token file contains no valid bearer token")]
    BadToken,
    #[error("cannot query {server}")]
    Unreachable { server: String, source: reqwest::Error },
    #[error("the response of {server} exceeds {MAX_BYTES} bytes")]
    TooLarge { server: String },
    #[error("the result is 0 with a warning, so data may be missing: {warning}")]
    Partial { warning: String },
    #[error(transparent)]
    Reply(#[from] ReplyError),
}

/// A server that speaks Prometheus' HTTP API.
pub(super) struct Prometheus {
    settings: PrometheusSettings,
    kube: kube::Client,
    metrics: metrics::Queries,
    /// The client in use, and what it was made from. It is gone after a failure, so that a Service
    /// that moved is found again.
    client: Mutex<Option<(Basis, reqwest::Client)>>,
}

impl Prometheus {
    pub(super) fn new(
        settings: PrometheusSettings,
        kube: kube::Client,
        metrics: metrics::Queries,
    ) -> Self {
        Self { settings, kube, metrics, client: Mutex::new(None) }
    }

    /// The answer to an instant query. With GET: authorizing proxies take POST for a write.
    pub(super) async fn query(&self, query: &str) -> Result<Answer, AskError> {
        // Thanos answers for those that are there unless told otherwise; Prometheus is alone.
        let parameters = [("query", query), ("partial_response", "false")];
        let (status, body) = self.get("api/v1/query", &parameters).await?;
        let (answer, warnings) = reply::read(status, &body)?;
        self.metrics.warned(warnings.len() as u64);
        match warnings.first() {
            // What is missing might say that the cluster matches; nothing says that it does not.
            Some(warning) if answer.outcome() == Ok(false) => {
                Err(AskError::Partial { warning: excerpt(warning).into_owned() })
            }
            _ => Ok(answer),
        }
    }

    /// The list of alerts, as it came.
    pub(super) async fn alerts(&self) -> Result<Vec<u8>, AskError> {
        let (status, body) = self.get("api/v1/alerts", &[]).await?;
        if !status.is_success() {
            return Err(ReplyError::Status(status).into());
        }
        Ok(body)
    }

    async fn get(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<(http::StatusCode, Vec<u8>), AskError> {
        let mut url = self.url()?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url.query_pairs_mut().extend_pairs(query).finish();
        let client = self.client(url.scheme() == "https").await?;
        let mut request = client.get(url.clone());
        if url.scheme() == "https" {
            let token = client::read(&self.settings.token).await?;
            let token = String::from_utf8(token).map_err(|_| AskError::BadToken)?;
            let value = format!("Bearer {}", token.trim());
            let mut value = http::HeaderValue::try_from(value).map_err(|_| AskError::BadToken)?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let server = url.origin().ascii_serialization();
        let answer = async {
            let response = request.send().await?;
            let status = response.status();
            Ok((status, body(response).await?))
        };
        match answer.await {
            Ok((status, Some(body))) => Ok((status, body)),
            Ok((_, None)) => Err(AskError::TooLarge { server }),
            Err(source) => {
                *self.client.lock().await = None;
                // The query is long, and whoever reads this knows it.
                let source: reqwest::Error = source;
                Err(AskError::Unreachable { server, source: source.without_url() })
            }
        }
    }

    fn url(&self) -> Result<Url, AskError> {
        if let Some(url) = &self.settings.url {
            return Ok(url.clone());
        }
        let text = format!("https://{}:{PORT}", self.dns_name());
        Url::parse(&text).map_err(|source| AskError::NoName { name: self.dns_name(), source })
    }

    fn dns_name(&self) -> String {
        let PrometheusSettings { service, namespace, .. } = &self.settings;
        format!("{service}.{namespace}.svc.cluster.local")
    }

    /// A client that trusts what is to be trusted now.
    async fn client(&self, encrypted: bool) -> Result<reqwest::Client, AskError> {
        let ca_bundle = &self.settings.ca_bundle;
        let authorities = if encrypted {
            Some((ca_bundle.clone(), client::read(ca_bundle).await?))
        } else {
            None
        };
        let mut held = self.client.lock().await;
        if let Some((basis, client)) = held.as_ref()
            && basis.authorities == authorities
        {
            return Ok(client.clone());
        }
        let resolved = self.resolved().await?;
        let basis = Basis { authorities, resolved };
        let client = basis.client()?;
        *held = Some((basis, client.clone()));
        Ok(client)
    }

    /// The address of the Service: an operator on the host's network cannot look up its name.
    async fn resolved(&self) -> Result<Option<(String, IpAddr)>, AskError> {
        if self.settings.url.is_some() || self.settings.use_dns {
            return Ok(None);
        }
        let (namespace, name) = (self.settings.namespace.clone(), self.settings.service.clone());
        let services = Api::<Service>::namespaced(self.kube.clone(), &namespace);
        let service = match timeout(LOOKUP, services.get(&name)).await {
            Ok(Ok(service)) => service,
            Ok(Err(source)) => return Err(AskError::NoService { namespace, name, source }),
            Err(_) => return Err(AskError::NoAnswer { namespace, name }),
        };
        let address = service.spec.and_then(|spec| spec.cluster_ip);
        match address.and_then(|address| address.parse().ok()) {
            Some(address) => Ok(Some((self.dns_name(), address))),
            None => Err(AskError::NoAddress { namespace, name }),
        }
    }
}

/// The body of an answer; `None` if there is too much of it.
async fn body(mut response: Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}
