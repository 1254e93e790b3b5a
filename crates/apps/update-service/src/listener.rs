//! Accepts connections, plain or TLS, with limits and graceful shutdown.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fairway_http::{Certificate, WriteTimeout};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::{self, Admission, PathSet};
use crate::options::ServiceLimits;
use crate::state::State;

/// Bytes of all headers; clients send less than 1 KiB, and proxies add as much.
const MAX_HEADER_BYTES: usize = 32 << 10;
const MAX_HEADERS: usize = 64;

/// Timeout of a TLS handshake, which takes two round trips.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for headers while few slots are left; a slow client needs about a second.
const BRIEF_HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for headers and responses of connections beyond the limit.
const OVERLOAD_TIMEOUT: Duration = Duration::from_secs(2);

/// Fraction of the slots for short connections, so that idle keep-alive connections cannot occupy
/// all of them.
const BRIEF_FRACTION: usize = 4;

/// Fraction of the slots that is added for probes.
const PROBE_FRACTION: usize = 8;

/// Delay after a failed accept: other connections have to end first (EMFILE).
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Time during shutdown in which new and idle connections may still send a request.
const IDLE_GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Accepts connections on one socket.
pub(crate) struct Listener {
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) state: Arc<State>,
    pub(crate) limits: ServiceLimits,
    pub(crate) paths: PathSet,
    pub(crate) tasks: TaskTracker,
    /// Cancelled when no more connections are accepted and idle ones are closed.
    pub(crate) closing: CancellationToken,
}

type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

impl Listener {
    /// Accepts connections until shutdown, and then those in the backlog.
    pub(crate) async fn run(self, socket: TcpListener) {
        let this = Arc::new(self);
        let slots = ConnectionSlots::new(this.limits.connections);
        loop {
            // Cancelling `accept` loses no connection: it stays in the backlog, which is drained
            // below.
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                () = this.closing.cancelled() => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let Some((slot, admission)) = slots.next().await else { return };
                    this.spawn(stream, slot, admission);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connection");
                    let _ = timeout(ACCEPT_RETRY_DELAY, this.closing.cancelled()).await;
                }
            }
        }
        if let Err(error) = this.accept_backlog(socket, &slots) {
            tracing::warn!(%error, "rejected pending connections");
        }
    }

    /// Accepts the connections in the backlog: they may have sent a request.
    fn accept_backlog(
        self: &Arc<Self>,
        socket: TcpListener,
        slots: &ConnectionSlots,
    ) -> io::Result<()> {
        let socket = socket.into_std()?;
        while let Ok(slot) = Arc::clone(&slots.regular).try_acquire_owned() {
            match socket.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    self.spawn(TcpStream::from_std(stream)?, slot, Admission::Welcome);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn spawn(
        self: &Arc<Self>,
        stream: TcpStream,
        slot: OwnedSemaphorePermit,
        admission: Admission,
    ) {
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            this.state.metrics.connections.inc();
            if let Err(error) = this.connection(stream, admission).await {
                tracing::debug!(%error, "connection failed");
            }
            this.state.metrics.connections.dec();
            drop(slot);
        });
    }

    async fn connection(
        &self,
        stream: TcpStream,
        admission: Admission,
    ) -> Result<(), ConnectionError> {
        // A response is one write, so there is nothing to coalesce.
        stream.set_nodelay(true)?;
        match &self.certificate {
            None => self.serve(stream, admission).await,
            Some(certificate) => {
                let acceptor = TlsAcceptor::from(certificate.config());
                let limit = HANDSHAKE_TIMEOUT.min(self.timeouts(admission).headers);
                let stream = timeout(limit, acceptor.accept(stream)).await??;
                self.serve(stream, admission).await
            }
        }
    }

    /// Timeouts of a connection by its admission.
    fn timeouts(&self, admission: Admission) -> ServiceLimits {
        let ServiceLimits { headers, answer, .. } = self.limits;
        let (headers, answer) = match admission {
            Admission::Welcome => (headers, answer),
            Admission::Brief => (headers.min(BRIEF_HEADER_TIMEOUT), answer),
            Admission::Full => (headers.min(OVERLOAD_TIMEOUT), answer.min(OVERLOAD_TIMEOUT)),
        };
        ServiceLimits { headers, answer, ..self.limits }
    }

    async fn serve<S>(&self, stream: S, admission: Admission) -> Result<(), ConnectionError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (state, paths) = (&self.state, self.paths);
        let service =
            service_fn(move |request| http::respond(Arc::clone(state), paths, admission, request));
        let limits = self.timeouts(admission);
        let stream = TokioIo::new(WriteTimeout::new(stream, limits.answer));
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.headers)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEADER_BYTES);
        let connection = builder.serve_connection(stream, service);
        tokio::pin!(connection);
        let grace_period = async {
            self.closing.cancelled().await;
            let _ = timeout(IDLE_GRACE_PERIOD, std::future::pending::<()>()).await;
        };
        // The connection is only borrowed: a request in flight is finished below.
        tokio::select! {
            check_end = connection.as_mut() => return Ok(check_end?),
            () = grace_period => {}
        }
        connection.as_mut().graceful_shutdown();
        Ok(connection.await?)
    }
}

/// Slots for connections.
struct ConnectionSlots {
    regular: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    /// With at most this many free slots, new connections are closed after one response.
    few: usize,
}

impl ConnectionSlots {
    fn new(connections: usize) -> Self {
        Self {
            regular: Arc::new(Semaphore::new(connections)),
            spare: Arc::new(Semaphore::new((connections / PROBE_FRACTION).max(1))),
            few: connections / BRIEF_FRACTION,
        }
    }

    /// Waits for a slot: a regular one, or one for probes.
    async fn next(&self) -> Option<(OwnedSemaphorePermit, Admission)> {
        let few = self.regular.available_permits() <= self.few;
        let admission = if few { Admission::Brief } else { Admission::Welcome };
        // `biased`: a probe slot is used only if no regular one is free.
        tokio::select! {
            biased;
            slot = Arc::clone(&self.regular).acquire_owned() => Some((slot.ok()?, admission)),
            slot = Arc::clone(&self.spare).acquire_owned() => {
                Some((slot.ok()?, Admission::Full))
            }
        }
    }
}
