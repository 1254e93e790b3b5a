//! Connections: plain or TLS, with limits, and an end in good order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fairway_http::{Certificate, Patience};
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

use crate::http::{self, Admission, Paths};
use crate::options::Limits;
use crate::state::State;

/// For all headers together; clients send less than 1 KiB, proxies add as much.
const HEADER_BYTES: usize = 32 << 10;
const HEADER_COUNT: usize = 64;

/// A handshake is two round trips.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// While places are few, nobody keeps one for a request that does not come; a slow client takes a
/// second for its headers.
const HURRY: Duration = Duration::from_secs(10);

/// Who is one too many is asked to be quicker still.
const HASTE: Duration = Duration::from_secs(2);

/// The part of all places that is for those who come and go: clients that keep their connections
/// without using them cannot have all of them.
const BRIEF: usize = 4;

/// The part of all connections by which there may be more, for probes.
const SPARE: usize = 8;

/// How long to wait when the system has no connection to give: some have to end first.
const BREATHER: Duration = Duration::from_millis(50);

/// A request of a client that has just connected, or was told nothing yet, is on its way so long.
const LAST_CALL: Duration = Duration::from_secs(1);

/// What accepts connections.
pub(crate) struct Listener {
    pub(crate) certificate: Option<Arc<Certificate>>,
    pub(crate) state: Arc<State>,
    pub(crate) limits: Limits,
    pub(crate) paths: Paths,
    pub(crate) tasks: TaskTracker,
    /// Nobody is accepted any more, and who does nothing is asked to leave.
    pub(crate) closing: CancellationToken,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Listener {
    /// Accepts connections until the service closes, and then those that were there before.
    pub(crate) async fn run(self, socket: TcpListener) {
        let this = Arc::new(self);
        let places = Places::new(this.limits.connections);
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                () = this.closing.cancelled() => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let Some((place, admission)) = places.next().await else { return };
                    this.spawn(stream, place, admission);
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept connection");
                    let _ = timeout(BREATHER, this.closing.cancelled()).await;
                }
            }
        }
        if let Err(error) = this.accept_waiting(socket, &places) {
            tracing::warn!(%error, "rejected pending connections");
        }
    }

    /// Accepts those whose connections the system has made already: they may have sent a request.
    fn accept_waiting(self: &Arc<Self>, socket: TcpListener, places: &Places) -> io::Result<()> {
        let socket = socket.into_std()?;
        while let Ok(place) = Arc::clone(&places.regular).try_acquire_owned() {
            match socket.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    self.spawn(TcpStream::from_std(stream)?, place, Admission::Welcome);
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
        place: OwnedSemaphorePermit,
        admission: Admission,
    ) {
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            this.state.metrics.connections.inc();
            if let Err(error) = this.connection(stream, admission).await {
                tracing::debug!(%error, "connection failed");
            }
            this.state.metrics.connections.dec();
            drop(place);
        });
    }

    async fn connection(&self, stream: TcpStream, admission: Admission) -> Result<(), Failure> {
        // An answer is one write: there is nothing to wait for.
        stream.set_nodelay(true)?;
        match &self.certificate {
            None => self.serve(stream, admission).await,
            Some(certificate) => {
                let acceptor = TlsAcceptor::from(certificate.config());
                let patience = HANDSHAKE.min(self.patience(admission).headers);
                let stream = timeout(patience, acceptor.accept(stream)).await??;
                self.serve(stream, admission).await
            }
        }
    }

    /// What a client gets that was admitted like this.
    fn patience(&self, admission: Admission) -> Limits {
        let Limits { headers, answer, .. } = self.limits;
        let (headers, answer) = match admission {
            Admission::Welcome => (headers, answer),
            Admission::Brief => (headers.min(HURRY), answer),
            Admission::Full => (headers.min(HASTE), answer.min(HASTE)),
        };
        Limits { headers, answer, ..self.limits }
    }

    async fn serve<S>(&self, stream: S, admission: Admission) -> Result<(), Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (state, paths) = (&self.state, self.paths);
        let service =
            service_fn(move |request| http::answer(Arc::clone(state), paths, admission, request));
        let limits = self.patience(admission);
        let stream = TokioIo::new(Patience::new(stream, limits.answer));
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(limits.headers)
            .max_headers(HEADER_COUNT)
            .max_buf_size(HEADER_BYTES);
        let connection = builder.serve_connection(stream, service);
        tokio::pin!(connection);
        let last_call = async {
            self.closing.cancelled().await;
            let _ = timeout(LAST_CALL, std::future::pending::<()>()).await;
        };
        tokio::select! {
            ended = connection.as_mut() => return Ok(ended?),
            () = last_call => {}
        }
        connection.as_mut().graceful_shutdown();
        Ok(connection.await?)
    }
}

/// How many may be connected at a time.
struct Places {
    regular: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    /// With fewer than this many left, whoever comes is asked to leave after one answer.
    few: usize,
}

impl Places {
    fn new(connections: usize) -> Self {
        Self {
            regular: Arc::new(Semaphore::new(connections)),
            spare: Arc::new(Semaphore::new((connections / SPARE).max(1))),
            few: connections / BRIEF,
        }
    }

    /// A place for one more: a regular one, or a spare one.
    async fn next(&self) -> Option<(OwnedSemaphorePermit, Admission)> {
        let few = self.regular.available_permits() <= self.few;
        let admission = if few { Admission::Brief } else { Admission::Welcome };
        tokio::select! {
            biased;
            place = Arc::clone(&self.regular).acquire_owned() => Some((place.ok()?, admission)),
            place = Arc::clone(&self.spare).acquire_owned() => {
                Some((place.ok()?, Admission::Full))
            }
        }
    }
}
