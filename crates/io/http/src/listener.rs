//! Connections: plain or TLS, with limits.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Patience;

/// Two Prometheus servers, probes, an API server, and somebody who looks.
const CONNECTIONS: usize = 32;

/// For a handshake, for the headers of a request, and for taking an answer: all are small. So long
/// others wait at most for somebody who keeps a connection without using it.
const PATIENCE: Duration = Duration::from_secs(10);

/// For all headers together; Prometheus sends a token of some KiB.
const HEADER_BYTES: usize = 16 << 10;

/// How long to wait when the system has no connection to give: some have to end first.
const BREATHER: Duration = Duration::from_millis(50);

/// How the next connection is to be secured; `None` is plain HTTP.
pub type Secured = Arc<dyn Fn() -> Option<Arc<ServerConfig>> + Send + Sync>;

/// What makes an answer of a request.
pub type Answer =
    Arc<dyn Fn(Request<Incoming>) -> BoxFuture<'static, Response<Full<Bytes>>> + Send + Sync>;

/// What accepts connections.
pub struct Listener {
    /// How connections are secured.
    pub secured: Secured,
    /// What requests are answered with.
    pub answer: Answer,
    /// Where connections go.
    pub tasks: TaskTracker,
    /// When it ends.
    pub closing: CancellationToken,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Listener {
    /// Accepts connections until it closes.
    pub async fn run(self, socket: TcpListener) {
        let this = Arc::new(self);
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let accepting = async {
            loop {
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                match socket.accept().await {
                    Ok((stream, _)) => {
                        let this = Arc::clone(&this);
                        this.tasks.clone().spawn(async move {
                            if let Err(error) = this.connection(stream).await {
                                tracing::debug!(error, "connection failed");
                            }
                            drop(place);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connection");
                        let _ = timeout(BREATHER, this.closing.cancelled()).await;
                    }
                }
            }
        };
        this.closing.run_until_cancelled(accepting).await;
    }

    async fn connection(&self, stream: TcpStream) -> Result<(), Failure> {
        stream.set_nodelay(true)?;
        match (self.secured)() {
            None => self.serve(stream).await,
            Some(config) => {
                let acceptor = TlsAcceptor::from(config);
                self.serve(timeout(PATIENCE, acceptor.accept(stream)).await??).await
            }
        }
    }

    async fn serve<S>(&self, stream: S) -> Result<(), Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let service = service_fn(async |request| Ok::<_, Infallible>((self.answer)(request).await));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEADER_BYTES);
        let stream = TokioIo::new(Patience::new(stream, PATIENCE));
        let mut connection = std::pin::pin!(builder.serve_connection(stream, service));
        tokio::select! {
            ended = connection.as_mut() => return Ok(ended?),
            () = self.closing.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        Ok(connection.await?)
    }
}
