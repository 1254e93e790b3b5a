//! Listener with connection limits, plain or TLS.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use fairway_backoff::Backoff;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::WriteTimeout;
use crate::connections::{ConnectionLimits, ConnectionSlot, ConnectionSlots, ConnectionState};

/// Limits of connections. A peer gets enough for two Prometheus servers or an API server, and four
/// peers cannot take all slots.
const LIMITS: ConnectionLimits = ConnectionLimits { total: 160, per_peer: 32 };

/// Timeout of a handshake, of request headers, and of writing a response; all are small. It limits how
/// long an idle connection occupies a slot.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of all headers; Prometheus sends a token of some KiB.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// Delay after a failed accept, for example without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Delay after a failed bind: the port may belong to a process that ends soon.
const BIND_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_secs(30) };

/// TLS configuration of the next connection; `None` is plain HTTP.
pub type Secured = Arc<dyn Fn() -> Option<Arc<ServerConfig>> + Send + Sync>;

/// Handler of requests.
pub type Answer =
    Arc<dyn Fn(Request<RequestBody>) -> BoxFuture<'static, Response<Full<Bytes>>> + Send + Sync>;

/// The connection of a request, among the extensions of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientConnection {
    /// Address of the client.
    pub peer: IpAddr,
    /// Whether the client has authenticated with a certificate that the TLS configuration trusts.
    pub has_certificate: bool,
}

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
    /// Accepts connections on an address, as a task. If the address is not available, the listener
    /// retries with a backoff. Returns the bound address, which has the port that port 0 stands for;
    /// `None` until the address is bound.
    pub fn start(self, address: SocketAddr) -> watch::Receiver<Option<SocketAddr>> {
        let (sender, receiver) = watch::channel(None);
        self.tasks.clone().spawn(async move {
            if let Some(socket) = bind(address, &self.closing).await {
                let address = socket.local_addr().unwrap_or(address);
                tracing::info!(%address, "listening");
                sender.send_replace(Some(address));
                self.run(socket).await;
            }
        });
        receiver
    }

    /// Accepts connections until it is closed.
    pub async fn run(self, socket: TcpListener) {
        let this = Arc::new(self);
        let slots = ConnectionSlots::new(LIMITS);
        let accepting = async {
            loop {
                match socket.accept().await {
                    Ok((stream, peer)) => this.admit(stream, peer.ip(), &slots),
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connection");
                        let _ = timeout(ACCEPT_RETRY_DELAY, this.closing.cancelled()).await;
                    }
                }
            }
        };
        this.closing.run_until_cancelled(accepting).await;
    }

    /// Serves a connection as a task, or closes it if its peer has too many.
    fn admit(self: &Arc<Self>, stream: TcpStream, peer: IpAddr, slots: &ConnectionSlots) {
        let Some(slot) = slots.admit(peer) else {
            tracing::debug!(%peer, "connection refused: too many requests of this peer in flight");
            return;
        };
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            let evicted = slot.evicted.clone();
            match evicted.run_until_cancelled(this.connection(stream, peer, slot)).await {
                Some(Ok(())) => {}
                Some(Err(error)) => tracing::debug!(error, "connection failed"),
                None => tracing::debug!(%peer, "connection evicted: too many connections"),
            }
        });
    }

    async fn connection(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        slot: ConnectionSlot,
    ) -> Result<(), Failure> {
        stream.set_nodelay(true)?;
        match (self.secured)() {
            None => {
                let connection = ClientConnection { peer, has_certificate: false };
                self.serve(stream, connection, slot).await
            }
            Some(config) => {
                let acceptor = TlsAcceptor::from(config);
                let stream = timeout(IO_TIMEOUT, acceptor.accept(stream)).await??;
                let has_certificate = stream.get_ref().1.peer_certificates().is_some();
                self.serve(stream, ClientConnection { peer, has_certificate }, slot).await
            }
        }
    }

    async fn serve<S>(
        &self,
        stream: S,
        connection: ClientConnection,
        slot: ConnectionSlot,
    ) -> Result<(), Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let slot = Arc::new(slot);
        let service = service_fn(async |request: Request<Incoming>| {
            let mut request = request.map(|body| RequestBody::new(body, &slot));
            request.extensions_mut().insert(connection);
            let response = (self.answer)(request).await;
            slot.set(ConnectionState::KeptAlive);
            Ok::<_, Infallible>(response)
        });
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

/// Binds an address; retries until `closing` is cancelled.
async fn bind(address: SocketAddr, closing: &CancellationToken) -> Option<TcpListener> {
    for failures in 1.. {
        match TcpListener::bind(address).await {
            Ok(socket) => return Some(socket),
            Err(error) => {
                let delay = BIND_BACKOFF.after(failures);
                tracing::warn!(%address, %error, ?delay, "cannot listen; retrying");
                if timeout(delay, closing.cancelled()).await.is_ok() {
                    return None;
                }
            }
        }
    }
    None
}

/// Body of a request. Its connection can be evicted until the body is complete.
pub struct RequestBody {
    body: Incoming,
    slot: Arc<ConnectionSlot>,
}

impl RequestBody {
    fn new(body: Incoming, slot: &Arc<ConnectionSlot>) -> Self {
        let is_complete = body.is_end_stream();
        slot.set(if is_complete { ConnectionState::Handling } else { ConnectionState::Receiving });
        Self { body, slot: Arc::clone(slot) }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) {
            self.slot.set(ConnectionState::Handling);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
