//! HTTP endpoints of the operator: `/metrics` on a public listener, and `/healthz` and `/readyz` on a
//! listener of their own, which only the node reaches.

pub use fairway_http::{TlsError, TlsFiles};
pub use fairway_metrics::MetricsAuth;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use fairway_http::{Certificate, Listener, TlsProfile};
use fairway_metrics::{MetricsHandler, ScrapeRequest};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::Metrics;

/// Settings of the endpoint for metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Certificate and key; `None` serves plain HTTP.
    pub tls: Option<TlsFiles>,
    /// File with the CA bundle of client certificates that may read metrics.
    pub client_ca: Option<PathBuf>,
    /// Clients that may read metrics.
    pub auth: MetricsAuth,
}

/// Errors while starting the endpoint.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The certificate cannot be loaded.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Phase of this replica, for `/readyz`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Waits for the Lease.
    #[default]
    Waiting,
    /// Holds the Lease, and its watches have not synced yet.
    Starting,
    /// Holds the Lease.
    Leading,
}

/// State that the probes report.
#[derive(Clone)]
pub struct Operations {
    /// Metrics of the leader, whose watches decide `/healthz`.
    pub metrics: Arc<Metrics>,
    /// Phase, for `/readyz`.
    pub phase: watch::Receiver<Phase>,
    /// Shutdown signal: `/readyz` fails after it.
    pub stop: CancellationToken,
}

/// Content of the endpoint for metrics.
pub struct MetricsContent {
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// Client of the API server, which reviews tokens.
    pub client: Client,
    /// TLS profile of the cluster.
    pub tls_profile: watch::Receiver<Option<TlsProfile>>,
}

/// Tasks and shutdown signal of the endpoints, which serve until `closing` is cancelled.
#[derive(Clone, Default)]
pub struct EndpointTasks {
    /// The tasks.
    pub tasks: TaskTracker,
    /// The shutdown signal.
    pub closing: CancellationToken,
}

/// Starts the endpoint for metrics. Returns its address; `None` until it is bound.
pub fn start(
    settings: EndpointSettings,
    content: MetricsContent,
    EndpointTasks { tasks, closing }: EndpointTasks,
) -> Result<watch::Receiver<Option<SocketAddr>>, EndpointError> {
    let EndpointSettings { listen, tls, client_ca, auth } = settings;
    let MetricsContent { metrics, client, tls_profile } = content;
    let load = |files| Certificate::load_or_make(files, client_ca);
    let certificate = tls.map(load).transpose()?.map(Arc::new);
    if let Some(certificate) = &certificate {
        let metrics = Arc::clone(&metrics);
        let count_error = move || metrics.tls_error();
        let keep = Arc::clone(certificate).keep(closing.clone(), Some(tls_profile), count_error);
        tasks.spawn(keep);
    }
    let handler = Arc::new(MetricsHandler::new(auth, client, move || metrics.text()));
    let listener = Listener {
        secured: Arc::new(move || certificate.as_ref().map(|it| it.config())),
        answer: Arc::new(move |request| {
            let (handler, refusal) = (Arc::clone(&handler), refuse(&request));
            let scrape = ScrapeRequest::from(&request);
            Box::pin(async move {
                match refusal {
                    Some(refusal) => refusal,
                    None => handler.respond(scrape).await,
                }
            })
        }),
        tasks,
        closing,
    };
    Ok(listener.start(listen))
}

/// Starts the endpoint for probes, without TLS. Returns its address; `None` until it is bound.
pub fn start_probes(
    address: SocketAddr,
    operations: Operations,
    EndpointTasks { tasks, closing }: EndpointTasks,
) -> watch::Receiver<Option<SocketAddr>> {
    let listener = Listener {
        secured: Arc::new(|| None),
        answer: Arc::new(move |request| Box::pin(std::future::ready(probe(&operations, &request)))),
        tasks,
        closing,
    };
    listener.start(address)
}

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Refuses a request that is not one for metrics.
fn refuse<B>(request: &Request<B>) -> Option<Response<Full<Bytes>>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "use GET or HEAD");
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return Some(answer);
    }
    let is_other = request.uri().path() != "/metrics";
    is_other.then(|| text(StatusCode::NOT_FOUND, "not found; path: /metrics"))
}

/// Responds to a probe.
fn probe<B>(operations: &Operations, request: &Request<B>) -> Response<Full<Bytes>> {
    match request.uri().path() {
        // Only what a restart repairs: failed watches retry by themselves.
        "/healthz" => match operations.metrics.stuck_watch() {
            None => text(StatusCode::OK, "ok"),
            Some(watch) => {
                let message = format!("the watch of {watch} is not active");
                text(StatusCode::INTERNAL_SERVER_ERROR, message)
            }
        },
        "/readyz" if operations.stop.is_cancelled() => {
            text(StatusCode::SERVICE_UNAVAILABLE, "stopping")
        }
        "/readyz" => ready(*operations.phase.borrow()),
        _ => text(StatusCode::NOT_FOUND, "not found; paths: /healthz, /readyz"),
    }
}

fn ready(phase: Phase) -> Response<Full<Bytes>> {
    let unready = StatusCode::SERVICE_UNAVAILABLE;
    match phase {
        Phase::Leading => text(StatusCode::OK, "ok"),
        Phase::Waiting => text(unready, "waiting for the Lease"),
        Phase::Starting => text(unready, "waiting for initial watches"),
    }
}

fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, TEXT);
    answer
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn read(answer: Response<Full<Bytes>>) -> (u16, String) {
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    fn get(path: &str) -> Request<()> {
        Request::builder().uri(path).body(()).unwrap()
    }

    #[tokio::test]
    async fn probe_responds_to_each_path() {
        let operations = |phase| Operations {
            metrics: Arc::default(),
            phase: watch::channel(phase).1,
            stop: CancellationToken::new(),
        };
        for (path, phase, expected) in [
            ("/healthz", Phase::Waiting, (200, "ok")),
            ("/readyz", Phase::Leading, (200, "ok")),
            ("/readyz?verbose", Phase::Leading, (200, "ok")),
            ("/readyz", Phase::Waiting, (503, "waiting for the Lease")),
            ("/readyz", Phase::Starting, (503, "waiting for initial watches")),
            ("/metrics", Phase::Leading, (404, "not found; paths: /healthz, /readyz")),
        ] {
            let (status, body) = read(probe(&operations(phase), &get(path))).await;
            assert_eq!((status, body.as_str()), expected, "{path} {phase:?}");
        }
        let stopping = operations(Phase::Leading);
        stopping.stop.cancel();
        assert_eq!(read(probe(&stopping, &get("/readyz"))).await, (503, "stopping".to_owned()));
    }

    #[tokio::test]
    async fn refuse_allows_get_and_head_of_metrics_only() {
        assert!(refuse(&get("/metrics?x")).is_none());
        let refused = refuse(&get("/healthz")).unwrap();
        assert_eq!(read(refused).await, (404, "not found; path: /metrics".to_owned()));
        let post = Request::builder().method(Method::POST).uri("/metrics").body(()).unwrap();
        let refused = refuse(&post).unwrap();
        assert_eq!(refused.headers()[ALLOW], "GET, HEAD");
        assert_eq!(read(refused).await, (405, "use GET or HEAD".to_owned()));
    }
}
