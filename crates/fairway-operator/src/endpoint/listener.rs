//! Connections: plain or TLS, with limits.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use fairway_http::{Certificate, Patience};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Operations, answer};

/// Two Prometheus servers, probes, and somebody who looks.
const CONNECTIONS: usize = 32;

/// For a handshake, for the headers of a request, and for taking an answer: all are small. So long
/// others wait at most for somebody who keeps a connection without using it.
const PATIENCE: Duration = Duration::from_secs(10);

/// For all headers together; Prometheus sends a token of some KiB.
const HEADER_BYTES: usize = 16 << 10;

/// How long to wait when the system has no connection to give: some have to end first.
const BREATHER: Duration = Duration::from_millis(50);

/// What accepts connections.
pub(super) struct Listener {
    pub(super) certificate: Option<Arc<Certificate>>,
    pub(super) operations: Operations,
    pub(super) tasks: TaskTracker,
    pub(super) closing: CancellationToken,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Listener {
    /// Accepts connections until the endpoint closes.
    pub(super) async fn run(self, socket: TcpListener) {
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
                                tracing::debug!(error, "a connection ended badly");
                            }
                            drop(place);
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be accepted");
                        let _ = timeout(BREATHER, this.closing.cancelled()).await;
                    }
                }
            }
        };
        this.closing.run_until_cancelled(accepting).await;
    }

    async fn connection(&self, stream: TcpStream) -> Result<(), Failure> {
        stream.set_nodelay(true)?;
        match &self.certificate {
            None => self.serve(stream).await,
            Some(certificate) => {
                let acceptor = TlsAcceptor::from(certificate.config());
                self.serve(timeout(PATIENCE, acceptor.accept(stream)).await??).await
            }
        }
    }

    async fn serve<S>(&self, stream: S) -> Result<(), Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let service = service_fn(async |request| {
            Ok::<_, Infallible>(answer::answer(&self.operations, &request))
        });
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
