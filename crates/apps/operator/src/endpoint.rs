//! HTTP endpoint of the operator: `/metrics`, `/healthz` and `/readyz`.

pub use fairway_http::{TlsError, TlsFiles};

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use fairway_http::{Certificate, Listener};
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::Metrics;

/// Settings of the endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Certificate and key; `None` serves plain HTTP.
    pub tls: Option<TlsFiles>,
}

/// Errors while starting the endpoint.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The address is not available.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
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

/// State that the endpoint reports.
#[derive(Clone)]
pub struct Operations {
    /// Metrics, for `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Phase, for `/readyz`.
    pub phase: watch::Receiver<Phase>,
    /// Shutdown signal: `/readyz` fails after it.
    pub stop: CancellationToken,
}

/// Starts the endpoint and returns its address, which has the port that port 0 stands for. It serves
/// until `closing` is cancelled.
pub async fn start(
    settings: EndpointSettings,
    operations: Operations,
    tasks: &TaskTracker,
    closing: CancellationToken,
) -> Result<SocketAddr, EndpointError> {
    let certificate = settings.tls.map(Certificate::load_or_make).transpose()?.map(Arc::new);
    let address = settings.listen;
    let failed = |source| EndpointError::Listen { address, source };
    let socket = TcpListener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    if let Some(certificate) = &certificate {
        let metrics = Arc::clone(&operations.metrics);
        let keep = Arc::clone(certificate).keep(closing.clone(), move || metrics.tls_error());
        tasks.spawn(keep);
    }
    let listener = Listener {
        secured: Arc::new(move || certificate.as_ref().map(|it| it.config())),
        answer: Arc::new(move |request| {
            Box::pin(std::future::ready(respond(&operations, &request)))
        }),
        tasks: tasks.clone(),
        closing,
    };
    tasks.spawn(listener.run(socket));
    Ok(address)
}

/// Media type that Prometheus reads.
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Responds to any request.
fn respond<B>(operations: &Operations, request: &Request<B>) -> Response<Full<Bytes>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "use GET or HEAD");
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    match request.uri().path() {
        "/metrics" => {
            let mut answer = text(StatusCode::OK, operations.metrics.text());
            answer.headers_mut().insert(CONTENT_TYPE, OPEN_METRICS);
            answer
        }
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
        _ => text(StatusCode::NOT_FOUND, "not found; paths: /metrics, /healthz, /readyz"),
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
    use std::sync::Arc;

    use http_body_util::BodyExt as _;
    use tokio::sync::watch;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::metrics::Metrics;

    fn operations(phase: Phase) -> Operations {
        Operations {
            metrics: Arc::new(Metrics::default()),
            phase: watch::channel(phase).1,
            stop: CancellationToken::new(),
        }
    }

    async fn ask(method: Method, path: &str, phase: Phase) -> (u16, String) {
        send(&operations(phase), method, path).await
    }

    async fn send(operations: &Operations, method: Method, path: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path).body(()).unwrap();
        let answer = respond(operations, &request);
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn respond_to_each_path() {
        for (path, phase, expected) in [
            ("/healthz", Phase::Waiting, (200, "ok")),
            ("/readyz", Phase::Leading, (200, "ok")),
            ("/readyz?verbose", Phase::Leading, (200, "ok")),
            ("/readyz", Phase::Waiting, (503, "waiting for the Lease")),
            ("/readyz", Phase::Starting, (503, "waiting for initial watches")),
            ("/", Phase::Leading, (404, "not found; paths: /metrics, /healthz, /readyz")),
        ] {
            let (status, body) = ask(Method::GET, path, phase).await;
            assert_eq!((status, body.as_str()), expected, "{path} {phase:?}");
        }
        let stopping = operations(Phase::Leading);
        stopping.stop.cancel();
        let answer = send(&stopping, Method::GET, "/readyz").await;
        assert_eq!(answer, (503, "stopping".to_owned()));
        assert_eq!(ask(Method::POST, "/metrics", Phase::Leading).await.0, 405);
        let (status, metrics) = ask(Method::GET, "/metrics", Phase::Leading).await;
        assert!(status == 200 && metrics.ends_with("# EOF\n"), "{metrics}");
    }
}
