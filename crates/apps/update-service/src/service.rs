//! A service: begun, used, and ended.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::HeaderValue;
use fairway_http::{Certificate, TlsError};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::{self, Paths};
use crate::listener::Listener;
use crate::options::{Limits, Options};
use crate::refresh;
use crate::state::{Settings, State};
use crate::status::Status;

/// Connections to an address of its own for probes: some balancers, monitors and people.
const PROBES: usize = 64;

/// Why a service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// What paths begin with is no path.
    #[error("prefix {prefix:?} must start with / and must not end with /")]
    Prefix {
        /// The prefix.
        prefix: String,
    },
    /// There is no certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// An update service. It ends with this value, and in good order by [`stop`](Self::stop).
pub struct Service {
    address: SocketAddr,
    status_address: SocketAddr,
    state: Arc<State>,
    drain: Duration,
    farewell: Duration,
    tasks: TaskTracker,
    stopping: CancellationToken,
    closing: CancellationToken,
}

impl Service {
    /// Starts a service. It answers when this returns: probes at once, graphs as soon as the
    /// sources were read.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let Options {
            address,
            status_address,
            prefix,
            graph_data,
            releases,
            signatures,
            tls,
            max_age,
            limits,
        } = options;
        if !prefix.starts_with('/') || prefix.ends_with('/') {
            return Err(StartError::Prefix { prefix });
        }
        let certificate = tls.map(Certificate::load).transpose()?.map(Arc::new);
        let (socket, address) = bind(address).await?;
        let status = match status_address {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let status_address = status.as_ref().map_or(address, |(_, address)| *address);

        let openapi = http::openapi(&prefix);
        let settings = Settings { prefix, cache_control: cache_control(max_age), signatures };
        let state = Arc::new(State::new(settings, openapi));
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        let closing = CancellationToken::new();

        let (files_seen, files) = refresh::channel(&graph_data);
        let (releases_seen, found) = refresh::channel(&releases);
        let shared = || (Arc::clone(&state), stopping.clone());
        let (looking, stop) = shared();
        tasks.spawn(refresh::look(graph_data, files_seen, looking, stop));
        let (looking, stop) = shared();
        tasks.spawn(refresh::look(releases, releases_seen, looking, stop));
        let (publishing, stop) = shared();
        tasks.spawn(refresh::publish(files, found, publishing, stop));
        if let Some(certificate) = &certificate {
            let (keeping, stop) = shared();
            let count_error = move || {
                keeping.metrics.tls_errors.inc();
            };
            tasks.spawn(Arc::clone(certificate).keep(stop, count_error));
        }
        let listen = |paths, certificate, limits| Listener {
            certificate,
            state: Arc::clone(&state),
            limits,
            paths,
            tasks: tasks.clone(),
            closing: closing.clone(),
        };
        let paths = if status.is_some() { Paths::Public } else { Paths::All };
        tasks.spawn(listen(paths, certificate, limits).run(socket));
        if let Some((socket, _)) = status {
            let limits = Limits { connections: PROBES, ..limits };
            tasks.spawn(listen(Paths::Probes, None, limits).run(socket));
        }
        let (drain, farewell) = (limits.drain, limits.answer);
        Ok(Self { address, status_address, state, drain, farewell, tasks, stopping, closing })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it answers probes.
    pub fn status_address(&self) -> SocketAddr {
        self.status_address
    }

    /// How things are.
    pub fn status(&self) -> Arc<Status> {
        self.state.status()
    }

    /// Ends the service in good order. For a while it still answers, says that it is not ready,
    /// and asks clients to close their connections; then it accepts nobody, and finishes what it
    /// has begun.
    pub async fn stop(self) {
        self.state.leave();
        self.stopping.cancel();
        self.tasks.close();
        // Nothing ends this wait early: whoever comes is still answered.
        let _ = timeout(self.drain, std::future::pending::<()>()).await;
        self.closing.cancel();
        if timeout(self.farewell, self.tasks.wait()).await.is_err() {
            tracing::warn!("closing connections after shutdown grace period");
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stopping.cancel();
        self.closing.cancel();
    }
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { address, source };
    let socket = TcpListener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    Ok((socket, address))
}

fn cache_control(max_age: Duration) -> HeaderValue {
    let text = format!("public, max-age={}", max_age.as_secs());
    HeaderValue::try_from(text).expect("letters and digits")
}
