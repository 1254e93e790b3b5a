//! Listener with connection limits, plain or TLS.

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

use crate::WriteTimeout;

/// Maximum connections: two Prometheus servers, probes, an API server, and a user.
const MAX_CONNECTIONS: usize = 32;

/// Timeout of a handshake, of request headers, and of writing a response; all are small. It limits how
/// long an idle connection occupies a slot.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of all headers; Prometheus sends a token of some KiB.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// Delay after a failed accept, for example without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// TLS configuration of the next connection; `None` is plain HTTP.
pub type Secured = Arc<dyn Fn() -> Option<Arc<ServerConfig>> + Send + Sync>;

/// Handler of requests.
pub type Answer =
    Arc<dyn Fn(Request<Incoming>) -> BoxFuture<'static, Response<Full<Bytes>>> + Send + Sync>;

/// Accepts connections.
pub struct Listener {
    /// TLS configuration.
    pub secured: Secured,
    /// Request handler.
    pub answer: Answer,
    /// Tasks of the connections.
    pub tasks: TaskTracker,
    /// Shutdown signal.
    pub closing: CancellationToken,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Listener {
    /// Accepts connections until it is closed.
    pub async fn run(self, socket: TcpListener) {
        let this = Arc::new(self);
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let accepting = async {
            loop {
                let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
                match socket.accept().await {
                    Ok((stream, _)) => {
                        let this = Arc::clone(&this);
                        this.tasks.clone().spawn(async move {
                            if let Err(error) = this.connection(stream).await {
                                tracing::debug!(error, "connection failed");
                            }
                            drop(slot);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connection");
                        let _ = timeout(ACCEPT_RETRY_DELAY, this.closing.cancelled()).await;
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
                self.serve(timeout(IO_TIMEOUT, acceptor.accept(stream)).await??).await
            }
        }
    }

    async fn serve<S>(&self, stream: S) -> Result<(), Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let service = service_fn(async |request| Ok::<_, Infallible>((self.answer)(request).await));
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(IO_TIMEOUT)
            .max_buf_size(MAX_HEADER_BYTES);
        let stream = TokioIo::new(WriteTimeout::new(stream, IO_TIMEOUT));
        let mut connection = std::pin::pin!(builder.serve_connection(stream, service));
        // On shutdown, the response in progress is still written.
        tokio::select! {
            ended = connection.as_mut() => return Ok(ended?),
            () = self.closing.cancelled() => {}
        }
        connection.as_mut().graceful_shutdown();
        Ok(connection.await?)
    }
}
