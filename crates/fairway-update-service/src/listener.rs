//! Connections: plain or TLS, with limits, and an end in good order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

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

use crate::http::{self, Admission};
use crate::options::Limits;
use crate::patience::Patience;
use crate::state::State;
use crate::tls::Certificate;

/// For all headers together; clients send less than 1 KiB, proxies add as much.
const HEADER_BYTES: usize = 32 << 10;
const HEADER_COUNT: usize = 64;

/// A handshake is two round trips.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Who is one too many is asked to be quick.
const HASTE: Duration = Duration::from_secs(2);

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
    pub(crate) tasks: TaskTracker,
    /// Nobody is accepted any more, and who does nothing is asked to leave.
    pub(crate) closing: CancellationToken,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Listener {
    /// Accepts connections until the service closes, and then those that were there before.
    pub(crate) async fn run(self, socket: TcpListener) {
        let this = Arc::new(self);
        let limits = &this.limits;
        let slots = Arc::new(Semaphore::new(limits.connections));
        let spare = Arc::new(Semaphore::new((limits.connections / SPARE).max(1)));
        loop {
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                () = this.closing.cancelled() => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let Some((slot, admission)) = slot(&slots, &spare).await else { return };
                    this.spawn(stream, slot, admission);
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    let _ = timeout(BREATHER, this.closing.cancelled()).await;
                }
            }
        }
        if let Err(error) = this.accept_waiting(socket, &slots) {
            tracing::warn!(%error, "clients that waited to be accepted were turned away");
        }
    }

    /// Accepts those whose connections the system has made already: they may have sent a request.
    fn accept_waiting(
        self: &Arc<Self>,
        socket: TcpListener,
        slots: &Arc<Semaphore>,
    ) -> io::Result<()> {
        let socket = socket.into_std()?;
        while let Ok(slot) = Arc::clone(slots).try_acquire_owned() {
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
                tracing::debug!(%error, "a connection ended badly");
            }
            this.state.metrics.connections.dec();
            drop(slot);
        });
    }

    async fn connection(&self, stream: TcpStream, admission: Admission) -> Result<(), Failure> {
        // An answer is one write: there is nothing to wait for.
        stream.set_nodelay(true)?;
        match &self.certificate {
            None => self.serve(stream, admission).await,
            Some(certificate) => {
                let acceptor = TlsAcceptor::from(certificate.config());
                let stream = timeout(HANDSHAKE, acceptor.accept(stream)).await??;
                self.serve(stream, admission).await
            }
        }
    }

    async fn serve<S>(&self, stream: S, admission: Admission) -> Result<(), Failure>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let state = &self.state;
        let service =
            service_fn(move |request| http::answer(Arc::clone(state), admission, request));
        let stream = TokioIo::new(Patience::new(stream, self.limits.answer));
        let patience = match admission {
            Admission::Welcome => self.limits.headers,
            Admission::Full => HASTE,
        };
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(patience)
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

/// A place for one more connection: one of the regular ones, or a spare one.
async fn slot(
    slots: &Arc<Semaphore>,
    spare: &Arc<Semaphore>,
) -> Option<(OwnedSemaphorePermit, Admission)> {
    tokio::select! {
        biased;
        slot = Arc::clone(slots).acquire_owned() => Some((slot.ok()?, Admission::Welcome)),
        slot = Arc::clone(spare).acquire_owned() => Some((slot.ok()?, Admission::Full)),
    }
}
