//! Client of Prometheus or Thanos.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_risk::QueryResult;
use http::header::AUTHORIZATION;
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use reqwest::redirect::Policy;
use reqwest::{Certificate, Response};
use tokio::sync::Mutex;
use tokio::time::timeout;
use url::Url;

use super::reply::{self, ReplyError};
use crate::metrics;
use crate::settings::PrometheusSettings;
use crate::text::excerpt;

/// Maximum size of a response. A query returns one sample; the alerts of a large and failing cluster
/// have some hundred KiB.
const MAX_BYTES: usize = 4 << 20;

/// Port of Thanos for clients with a bearer token.
const PORT: u16 = 9091;

/// Timeout of the request for the Service.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Errors of a query.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
    #[error("invalid server name {name:?}")]
    NoName { name: String, source: url::ParseError },
    #[error("cannot get Service {namespace}/{name}")]
    NoService { namespace: String, name: String, source: kube::Error },
    #[error(
            "cannot get Service {namespace}/{name}: timed out after {} seconds",
            LOOKUP_TIMEOUT.as_secs()
        )]
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

/// Client of a server with the Prometheus HTTP API.
pub(super) struct Prometheus {
    settings: PrometheusSettings,
    kube: kube::Client,
    metrics: metrics::Queries,
    /// The HTTP client and its configuration. Removed after a failure, so that the Service is looked
    /// up again.
    client: Mutex<Option<(ClientConfig, reqwest::Client)>>,
}

impl Prometheus {
    pub(super) fn new(
        settings: PrometheusSettings,
        kube: kube::Client,
        metrics: metrics::Queries,
    ) -> Self {
        Self { settings, kube, metrics, client: Mutex::new(None) }
    }

    /// Evaluates an instant query. By GET, because authorizing proxies treat POST as a write.
    pub(super) async fn query(&self, query: &str) -> Result<QueryResult, QueryError> {
        // Without the parameter, Thanos returns partial results. Prometheus ignores it.
        let parameters = [("query", query), ("partial_response", "false")];
        let (status, body) = self.get("api/v1/query", &parameters).await?;
        let (answer, warnings) = reply::read(status, &body)?;
        self.metrics.warned(warnings.len() as u64);
        match warnings.first() {
            // The missing data may match the risk, so "does not match" is not reliable.
            Some(warning) if answer.outcome() == Ok(false) => {
                Err(QueryError::Partial { warning: excerpt(warning).into_owned() })
            }
            _ => Ok(answer),
        }
    }

    /// The response with the list of alerts.
    pub(super) async fn alerts(&self) -> Result<Vec<u8>, QueryError> {
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
    ) -> Result<(http::StatusCode, Vec<u8>), QueryError> {
        let mut url = self.url()?;
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url.query_pairs_mut().extend_pairs(query).finish();
        let client = self.client(url.scheme() == "https").await?;
        let mut request = client.get(url.clone());
        if url.scheme() == "https" {
            let token = read_file(&self.settings.token).await?;
            let token = String::from_utf8(token).map_err(|_| QueryError::BadToken)?;
            let value = format!("Bearer {}", token.trim());
            let mut value = http::HeaderValue::try_from(value).map_err(|_| QueryError::BadToken)?;
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
            Ok((_, None)) => Err(QueryError::TooLarge { server }),
            Err(source) => {
                *self.client.lock().await = None;
                // The URL has the query, which is long and known to the caller.
                let source: reqwest::Error = source;
                Err(QueryError::Unreachable { server, source: source.without_url() })
            }
        }
    }

    fn url(&self) -> Result<Url, QueryError> {
        if let Some(url) = &self.settings.url {
            return Ok(url.clone());
        }
        let text = format!("https://{}:{PORT}", self.dns_name());
        Url::parse(&text).map_err(|source| QueryError::NoName { name: self.dns_name(), source })
    }

    fn dns_name(&self) -> String {
        let PrometheusSettings { service, namespace, .. } = &self.settings;
        format!("{service}.{namespace}.svc.cluster.local")
    }

    /// A client with the current CA bundle.
    async fn client(&self, encrypted: bool) -> Result<reqwest::Client, QueryError> {
        let ca_bundle = &self.settings.ca_bundle;
        let ca_bundle =
            if encrypted { Some((ca_bundle.clone(), read_file(ca_bundle).await?)) } else { None };
        let mut held = self.client.lock().await;
        if let Some((basis, client)) = held.as_ref()
            && basis.ca_bundle == ca_bundle
        {
            return Ok(client.clone());
        }
        let resolved = self.resolved().await?;
        let basis = ClientConfig { ca_bundle, resolved };
        let client = basis.client()?;
        *held = Some((basis, client.clone()));
        Ok(client)
    }

    /// The address of the Service: an operator on the host network cannot resolve cluster DNS.
    async fn resolved(&self) -> Result<Option<(String, IpAddr)>, QueryError> {
        if self.settings.url.is_some() || self.settings.use_dns {
            return Ok(None);
        }
        let (namespace, name) = (self.settings.namespace.clone(), self.settings.service.clone());
        let services = Api::<Service>::namespaced(self.kube.clone(), &namespace);
        let service = match timeout(LOOKUP_TIMEOUT, services.get(&name)).await {
            Ok(Ok(service)) => service,
            Ok(Err(source)) => return Err(QueryError::NoService { namespace, name, source }),
            Err(_) => return Err(QueryError::NoAnswer { namespace, name }),
        };
        let address = service.spec.and_then(|spec| spec.cluster_ip);
        match address.and_then(|address| address.parse().ok()) {
            Some(address) => Ok(Some((self.dns_name(), address))),
            None => Err(QueryError::NoAddress { namespace, name }),
        }
    }
}

/// Reads the body of a response; `None` if it is too large.
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

/// Timeout of a connection inside the cluster.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of a query. Queries of risks read few series; slower ones load the monitoring stack.
const QUERY_TIMEOUT: Duration = Duration::from_secs(30);

/// Errors while creating an HTTP client.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{} contains no certificates", path.display())]
    NoCertificates { path: PathBuf },
    #[error("cannot use the CA bundle {}", path.display())]
    BadCertificates { path: PathBuf, source: reqwest::Error },
    #[error("cannot create an HTTP client")]
    Unmakeable(#[source] reqwest::Error),
}

/// Configuration of an HTTP client; a change of it creates a new client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientConfig {
    /// CA bundle as PEM, and its file.
    pub(super) ca_bundle: Option<(PathBuf, Vec<u8>)>,
    /// Host name and address of the Service.
    pub(super) resolved: Option<(String, IpAddr)>,
}

impl ClientConfig {
    pub(super) fn client(&self) -> Result<reqwest::Client, ClientError> {
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(QUERY_TIMEOUT)
            // A redirect must not send the token to another server.
            .redirect(Policy::none())
            // Prometheus is in the cluster.
            .no_proxy();
        if let Some((path, pem)) = &self.ca_bundle {
            builder = builder.tls_certs_only(certificates(path, pem)?);
        }
        if let Some((name, address)) = &self.resolved {
            builder = builder.resolve(name, (*address, 0).into());
        }
        builder.build().map_err(ClientError::Unmakeable)
    }
}

fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<Certificate>, ClientError> {
    let bad = |source| ClientError::BadCertificates { path: path.to_owned(), source };
    let certificates = Certificate::from_pem_bundle(pem).map_err(bad)?;
    if certificates.is_empty() {
        return Err(ClientError::NoCertificates { path: path.to_owned() });
    }
    Ok(certificates)
}

/// Reads a file that is renewed, such as a token.
pub(super) async fn read_file(path: &Path) -> Result<Vec<u8>, ClientError> {
    tokio::fs::read(path)
        .await
        .map_err(|source| ClientError::Unreadable { path: path.to_owned(), source })
}
