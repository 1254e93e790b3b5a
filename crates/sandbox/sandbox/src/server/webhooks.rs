//! Calls of validating admission webhooks.

use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::admissionregistration::v1::{ServiceReference, ValidatingWebhook};
use k8s_openapi::api::core::v1::{Endpoints, Pod, Service, ServicePort};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::api::{
    Api, ApiRequest, ApiResult, ChangeReviewer, ObjectChange, StatusError, random_uid,
};
use crate::selector::LabelSelector;
use crate::store::{ListOptions, ResourceKey, Selection, Store};
use crate::webhook::{self, AdmissionResponse, MatchedWebhook, server_name};

/// Maximum size of a webhook response: the body limit of the API server.
const MAX_RESPONSE_BYTES: usize = 3 << 20;

/// Default `timeoutSeconds` of a webhook.
const DEFAULT_TIMEOUT_SECONDS: i32 = 10;

/// The response to a request, and the warnings of webhooks.
pub(super) struct ReviewedResponse {
    pub(super) result: ApiResult,
    pub(super) warnings: Vec<String>,
}

/// Handles a request with all matching webhooks.
pub(super) async fn handle(
    api: &Api,
    request: &Arc<ApiRequest>,
    stopping: &CancellationToken,
) -> ReviewedResponse {
    let webhooks = webhook::candidates(api.store(), request);
    if webhooks.is_empty() {
        return ReviewedResponse { result: api.handle(request), warnings: Vec::new() };
    }
    let reviewer = WebhookReviewer {
        api: api.clone(),
        webhooks,
        warnings: Mutex::default(),
        runtime: Handle::current(),
        stopping: stopping.clone(),
    };
    let request = Arc::clone(request);
    // `Api` is synchronous and calls the reviewer during a write, so it runs on a blocking thread
    // that may wait for webhooks.
    let response = tokio::task::spawn_blocking(move || {
        let result = reviewer.api.handle_reviewed(&request, &reviewer);
        let warnings = reviewer.warnings.into_inner().unwrap_or_else(PoisonError::into_inner);
        ReviewedResponse { result, warnings }
    });
    response.await.unwrap_or_else(|error| ReviewedResponse {
        result: Err(StatusError::internal(error)),
        warnings: Vec::new(),
    })
}

/// Calls the webhooks of a cluster for a change.
struct WebhookReviewer {
    api: Api,
    webhooks: Vec<ValidatingWebhook>,
    warnings: Mutex<Vec<String>>,
    runtime: Handle,
    stopping: CancellationToken,
}

impl ChangeReviewer for WebhookReviewer {
    fn review(&self, change: &ObjectChange<'_>) -> ApiResult<()> {
        let catalog = self.api.catalog();
        let namespace = change.request.namespace.as_deref();
        let namespace =
            namespace.and_then(|name| self.api.store().find("", "namespaces", None, name));
        let matched = self.webhooks.iter().filter_map(|webhook| {
            webhook::matched(webhook, change, namespace.as_deref(), &catalog)
        });
        let responses = join_all(matched.map(|matched| self.call(matched, change)));
        self.runtime.block_on(async {
            tokio::select! {
                responses = responses => responses.into_iter().collect(),
                // On shutdown, changes without approval are refused.
                () = self.stopping.cancelled() => Err(StatusError::internal("the server is shutting down")),
            }
        })
    }
}

impl WebhookReviewer {
    async fn call(&self, matched: MatchedWebhook<'_>, change: &ObjectChange<'_>) -> ApiResult<()> {
        match self.send_review(&matched, change).await {
            Ok(AdmissionResponse { result, warnings }) => {
                self.warnings.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings);
                result
            }
            Err(problem) => webhook::failure(matched.webhook, &problem),
        }
    }

    async fn send_review(
        &self,
        matched: &MatchedWebhook<'_>,
        change: &ObjectChange<'_>,
    ) -> Result<AdmissionResponse, String> {
        let uid = random_uid().unwrap_or_default();
        let review = webhook::review_request(matched, change, &uid)?;
        let body = post(matched.webhook, &review, self.api.store()).await?;
        webhook::parse_response(&matched.webhook.name, &uid, &body)
            .map_err(|problem| format!("received invalid webhook response: {problem}"))
    }
}

/// URL and address of a webhook.
#[derive(Debug, PartialEq)]
pub(super) struct WebhookAddress {
    /// The URL, which messages contain.
    pub(super) url: Url,
    /// Host and port to connect to.
    pub(super) host: String,
    pub(super) port: u16,
}

/// Resolves the address of a webhook. There is no service proxy, so a Service is resolved to one of
/// its pods or endpoints.
pub(super) fn resolve_address(
    webhook: &ValidatingWebhook,
    store: &Store,
) -> Result<WebhookAddress, String> {
    let config = &webhook.client_config;
    match (&config.url, &config.service) {
        (Some(url), _) => {
            let url =
                Url::parse(url).map_err(|error| format!("Unparsable webhook URL: {error}"))?;
            let host = url.host_str().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let port = url.port_or_known_default().unwrap_or(443);
            Ok(WebhookAddress { url, host, port })
        }
        (None, Some(service)) => resolve_service(service, store),
        (None, None) => Err("webhook configuration must have either service or URL".to_owned()),
    }
}

fn resolve_service(reference: &ServiceReference, store: &Store) -> Result<WebhookAddress, String> {
    let ServiceReference { namespace, name, path, port } = reference;
    let wanted = port.unwrap_or(443);
    let url = format!("https://{}:{wanted}", server_name(reference));
    let mut url = Url::parse(&url).map_err(|error| error.to_string())?;
    url.set_path(path.as_deref().unwrap_or("/"));
    let missing = || format!("service {name:?} not found");
    let service: Service = get(store, "services", namespace, name).ok_or_else(missing)?;
    let ports = service.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    let port = ports.clone().find(|port| port.port == wanted);
    let port =
        port.ok_or_else(|| format!("no service port {wanted} found for service {name:?}"))?;
    let (host, port) = ready_pod(&service, port, namespace, store)
        .or_else(|| endpoint(name, port, namespace, store))
        .ok_or_else(|| format!("no endpoints available for service {name:?}"))?;
    Ok(WebhookAddress { url, host, port })
}

/// A ready pod of the Service.
fn ready_pod(
    service: &Service,
    port: &ServicePort,
    namespace: &str,
    store: &Store,
) -> Option<(String, u16)> {
    let labels = service.spec.as_ref()?.selector.as_ref().filter(|labels| !labels.is_empty())?;
    let structured = serde_json::from_value(json!({ "matchLabels": labels })).ok()?;
    let labels = LabelSelector::from_structured(&structured).ok()?;
    let selection = Selection { labels, ..Selection::in_namespace(namespace) };
    let pods =
        store.list(&ResourceKey::new("", "pods"), &selection, &ListOptions::default()).ok()?;
    pods.items.iter().find_map(|pod| {
        let pod: Pod = read(pod)?;
        let status = pod.status.as_ref()?;
        let mut conditions = status.conditions.iter().flatten();
        conditions.any(|it| it.type_ == "Ready" && it.status == "True").then_some(())?;
        Some((status.pod_ip.clone()?, target_port(port, &pod)?))
    })
}

fn target_port(port: &ServicePort, pod: &Pod) -> Option<u16> {
    let number = match port.target_port.as_ref().unwrap_or(&IntOrString::Int(port.port)) {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let containers = pod.spec.as_ref()?.containers.iter();
            let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
            ports.find(|port| port.name.as_ref() == Some(name))?.container_port
        }
    };
    u16::try_from(number).ok()
}

/// The first endpoint of a Service without selector.
fn endpoint(
    name: &str,
    port: &ServicePort,
    namespace: &str,
    store: &Store,
) -> Option<(String, u16)> {
    let endpoints: Endpoints = get(store, "endpoints", namespace, name)?;
    endpoints.subsets.iter().flatten().find_map(|subset| {
        let address = subset.addresses.as_ref()?.first()?;
        let mut ports = subset.ports.iter().flatten();
        let port = ports.find(|it| it.name.as_deref().unwrap_or_default() == port_name(port))?;
        Some((address.ip.clone(), u16::try_from(port.port).ok()?))
    })
}

fn port_name(port: &ServicePort) -> &str {
    port.name.as_deref().unwrap_or_default()
}

fn get<K: DeserializeOwned>(store: &Store, plural: &str, namespace: &str, name: &str) -> Option<K> {
    read(&*store.find("", plural, Some(namespace), name)?)
}

fn read<K: DeserializeOwned>(object: &Value) -> Option<K> {
    K::deserialize(object).ok()
}

/// Sends a review and returns the response body. The error completes a message.
pub(super) async fn post(
    webhook: &ValidatingWebhook,
    review: &Value,
    store: &Store,
) -> Result<Bytes, String> {
    let seconds = webhook.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    let mut address = resolve_address(webhook, store)?;
    address.url.query_pairs_mut().append_pair("timeout", &format!("{seconds}s"));
    let bundle = webhook.client_config.ca_bundle.as_ref().map(|bundle| &*bundle.0);
    let tls = TlsConnector::from(Arc::new(tls_config(bundle)?));
    let limit = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    let response = timeout(limit, send(&address, tls, review)).await;
    let response = response
        .unwrap_or_else(|_| Err(CallError::Unreachable("context deadline exceeded".into())));
    response.map_err(|problem| match problem {
        CallError::Unreachable(why) => {
            format!("failed to call webhook: Post {:?}: {why}", address.url.as_str())
        }
        CallError::Response(why) => format!("failed to call webhook: {why}"),
    })
}

/// Why a call failed.
enum CallError {
    /// The webhook is unreachable.
    Unreachable(String),
    /// The webhook responded with an error.
    Response(String),
}

impl From<io::Error> for CallError {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error.to_string())
    }
}

impl From<hyper::Error> for CallError {
    fn from(error: hyper::Error) -> Self {
        let source = error.source().map(ToString::to_string);
        Self::Unreachable(source.unwrap_or_else(|| error.to_string()))
    }
}

async fn send(
    address: &WebhookAddress,
    tls: TlsConnector,
    review: &Value,
) -> Result<Bytes, CallError> {
    let WebhookAddress { url, host, port } = address;
    let dial = |error: io::Error| {
        CallError::Unreachable(format!("dial tcp {host}:{port}: {}", go_error_text(&error)))
    };
    let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(dial)?;
    let host_name = url.host_str().unwrap_or_default();
    let name = ServerName::try_from(host_name.to_owned());
    let name = name.map_err(|error| CallError::Unreachable(error.to_string()))?;
    let stream = tls.connect(name, stream).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::post(&url[url::Position::BeforePath..])
        .header(HOST, &url[url::Position::BeforeHost..url::Position::AfterPort])
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(Bytes::from(review.to_string())))
        .map_err(|error| CallError::Unreachable(error.to_string()))?;
    let response = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
        let body = body.map_err(|error| CallError::Response(error.to_string()))?.to_bytes();
        if head.status == StatusCode::OK { Ok(body) } else { Err(response_error(&head, &body)) }
    };
    // The connection must be polled for the request to make progress.
    tokio::pin!(response);
    tokio::select! {
        response = response.as_mut() => response,
        ended = connection => match ended {
            Ok(()) => response.await,
            Err(error) => Err(error.into()),
        },
    }
}

/// The error in the words of Go.
fn go_error_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        _ => error.to_string(),
    }
}

/// The error of a response. The API server quotes text bodies of 5xx responses.
fn response_error(head: &http::response::Parts, body: &[u8]) -> CallError {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_text = kind.is_some_and(|kind| kind.starts_with("text/"));
    let result = if is_text { String::from_utf8_lossy(body) } else { "unknown".into() };
    let result = result.trim();
    CallError::Response(match head.status {
        StatusCode::NOT_FOUND => "the server could not find the requested resource".to_owned(),
        status if status.is_server_error() => {
            format!("an error on the server ({result:?}) has prevented the request from succeeding")
        }
        status => format!("the server responded with the status code {}", status.as_u16()),
    })
}

/// TLS configuration with a CA bundle, or with the CA certificates of the host if it is empty.
pub(super) fn tls_config(bundle: Option<&[u8]>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if let Some(bundle) = bundle.filter(|bundle| !bundle.is_empty()) {
        let certificates = CertificateDer::pem_slice_iter(bundle).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(|error| error.to_string())?;
        roots.add_parsable_certificates(certificates);
        if roots.is_empty() {
            return Err("unable to load root certificates".to_owned());
        }
    } else {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
