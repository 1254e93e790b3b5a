//! Connections: TLS, HTTP/1.1 and HTTP/2, with limits.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use super::Server;
use crate::pki;
use crate::rbac::User;

/// Maximum number of connections. Further clients wait to be accepted.
const MAX_CONNECTIONS: usize = 1024;

/// Timeout of TLS handshakes, which take milliseconds on loopback.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for headers, and for idle connections.
const HEADER_TIMEOUT: Duration = Duration::from_mins(2);

/// Header limits for HTTP/1.1 and HTTP/2. Known clients send less than 4 KiB and a token.
const MAX_HEADER_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 100;

/// Maximum concurrent requests of a connection, as in the API server.
const MAX_CONCURRENT_STREAMS: u32 = 250;

/// Time for responses in progress when the server stops.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_millis(500);

/// Attributes of the connection of a request.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
    /// The user of the client certificate.
    pub(super) certificate: Option<User>,
    /// Closes the connection.
    pub(super) close: CancellationToken,
}

/// Accepts connections until the sandbox stops.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    server: Arc<Server>,
    tasks: TaskTracker,
) {
    let acceptor = TlsAcceptor::from(tls);
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let accepted = tokio::select! {
            () = server.stopping().cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually too many open files, which resolves itself when connections end.
                tracing::warn!(%error, "cannot accept connection");
                tokio::task::yield_now().await;
                continue;
            }
        };
        let (acceptor, router, server) = (acceptor.clone(), router.clone(), Arc::clone(&server));
        tasks.spawn(async move {
            let _slot = slot;
            if let Err(error) = serve_connection(stream, peer, acceptor, router, &server).await {
                tracing::debug!(%error, %peer, "connection failed");
            }
        });
    }
}

async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    acceptor: TlsAcceptor,
    router: Router,
    server: &Server,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    let close = server.connections().child_token();
    let stream = tokio::select! {
        () = close.cancelled() => return Ok(()),
        stream = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)) => stream??,
    };
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let certificate = certificates.first().and_then(pki::user);
    let attributes = Connection { peer, certificate, close: close.clone() };
    let service = service_fn(move |request| handle(router.clone(), attributes.clone(), request));

    let builder = builder();
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // Returning drops the connection and with it the requests in progress. A write that has reached
    // the store stays; its client cannot know, as with a real network.
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = close.cancelled() => return Ok(()),
        () = server.stopping().cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    // Dropping the connection aborts requests that have not finished by then.
    timeout(SHUTDOWN_GRACE_PERIOD, connection).await.unwrap_or(Ok(()))
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_HEADER_BYTES.try_into().unwrap_or(u32::MAX))
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    builder
}

async fn handle(
    router: Router,
    connection: Connection,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(connection);
    router.oneshot(request).await
}
