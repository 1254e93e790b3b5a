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

/// More than any client of a sandbox has open; the rest waits to be accepted.
const CONNECTIONS: usize = 1024;

/// A handshake on loopback takes milliseconds.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// As long as a client may take for its headers, and keep a connection that it does not use.
const HEADERS: Duration = Duration::from_mins(2);

/// Both for HTTP/1.1 and HTTP/2; ours have less than 4 KiB, and tokens and cookies are larger.
const HEADER_BYTES: usize = 64 << 10;
const HEADER_COUNT: usize = 100;

/// As many requests as the API server takes at once by one connection.
const STREAMS: u32 = 250;

/// Answers that are under way when the server stops get this long.
const FAREWELL: Duration = Duration::from_millis(500);

/// What a request knows of its connection.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) peer: SocketAddr,
    /// Who the client is by its certificate.
    pub(super) certificate: Option<User>,
    /// Breaks the connection.
    pub(super) cut: CancellationToken,
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
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let accepted = tokio::select! {
            () = server.stopping().cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually there are too many open files, which passes as connections end.
                tracing::warn!(%error, "cannot accept connection");
                tokio::task::yield_now().await;
                continue;
            }
        };
        let (acceptor, router, server) = (acceptor.clone(), router.clone(), Arc::clone(&server));
        tasks.spawn(async move {
            let _slot = slot;
            if let Err(error) = connection(stream, peer, acceptor, router, &server).await {
                tracing::debug!(%error, %peer, "connection failed");
            }
        });
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    acceptor: TlsAcceptor,
    router: Router,
    server: &Server,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    let cut = server.connections().child_token();
    let stream = tokio::select! {
        () = cut.cancelled() => return Ok(()),
        stream = timeout(HANDSHAKE, acceptor.accept(stream)) => stream??,
    };
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let certificate = certificates.first().and_then(pki::user);
    let about = Connection { peer, certificate, cut: cut.clone() };
    let service = service_fn(move |request| answer(router.clone(), about.clone(), request));

    let builder = builder();
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => return ended,
        () = cut.cancelled() => return Ok(()),
        () = server.stopping().cancelled() => {}
    }
    connection.as_mut().graceful_shutdown();
    // Whoever has not finished by then is cut off.
    timeout(FAREWELL, connection).await.unwrap_or(Ok(()))
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_headers(HEADER_COUNT)
        .max_buf_size(HEADER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADER_BYTES.try_into().unwrap_or(u32::MAX))
        .max_concurrent_streams(STREAMS);
    builder
}

async fn answer(
    router: Router,
    connection: Connection,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(connection);
    router.oneshot(request).await
}
