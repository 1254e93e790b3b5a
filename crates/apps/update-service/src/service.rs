//! Start and shutdown of the service.

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

use crate::http::{self, PathSet};
use crate::listener::Listener;
use crate::options::{ServiceLimits, ServiceOptions};
use crate::refresh::{self, PublicationPolicy};
use crate::saved_state::SavedState;
use crate::state::{ServiceStatus, Settings, State};

/// Maximum number of connections to a separate address for probes.
const MAX_PROBE_CONNECTIONS: usize = 64;

/// A service that cannot start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum StartError {
    /// The address cannot be bound.
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    /// The path prefix is invalid.
    #[error("prefix {prefix:?} must start with / and must not end with /")]
    Prefix { prefix: String },
    /// The certificate cannot be loaded.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A running update service. Dropping it aborts it; [`stop`](Self::stop) shuts it down gracefully.
pub struct Service {
    address: SocketAddr,
    status_address: SocketAddr,
    state: Arc<State>,
    drain: Duration,
    grace_period: Duration,
    tasks: TaskTracker,
    stopping: CancellationToken,
    closing: CancellationToken,
}

impl Service {
    /// Starts the service. It accepts requests when this returns: probes at once, graphs after the
    /// sources are read.
    pub async fn start(options: ServiceOptions) -> Result<Self, StartError> {
        let ServiceOptions {
            address,
            status_address,
            prefix,
            graph_data,
            releases,
            signatures,
            tls,
            max_age,
            limits,
            removed_blocks,
            state_directory,
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

        let (files_sender, files) = refresh::channel(&graph_data);
        let (releases_sender, release_list) = refresh::channel(&releases);
        let shared = || (Arc::clone(&state), stopping.clone());
        let (polling, stop) = shared();
        tasks.spawn(refresh::poll(graph_data, files_sender, polling, stop));
        let (polling, stop) = shared();
        tasks.spawn(refresh::poll(releases, releases_sender, polling, stop));
        let (publishing, stop) = shared();
        let saved = state_directory.map(SavedState::new);
        let policy = PublicationPolicy { removed_blocks, saved };
        tasks.spawn(refresh::publish(files, release_list, publishing, policy, stop));
        if let Some(certificate) = &certificate {
            let (counting, stop) = shared();
            let count_error = move || {
                counting.metrics.tls_errors.inc();
            };
            tasks.spawn(Arc::clone(certificate).keep(stop, None, count_error));
        }
        let listen = |paths, certificate, limits| Listener {
            certificate,
            state: Arc::clone(&state),
            limits,
            paths,
            tasks: tasks.clone(),
            closing: closing.clone(),
        };
        let paths = if status.is_some() { PathSet::Public } else { PathSet::All };
        tasks.spawn(listen(paths, certificate, limits).run(socket));
        if let Some((socket, _)) = status {
            let limits = ServiceLimits { connections: MAX_PROBE_CONNECTIONS, ..limits };
            tasks.spawn(listen(PathSet::Probes, None, limits).run(socket));
        }
        let (drain, grace_period) = (limits.drain, limits.answer);
        Ok(Self { address, status_address, state, drain, grace_period, tasks, stopping, closing })
    }

    /// The address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for probes.
    pub fn status_address(&self) -> SocketAddr {
        self.status_address
    }

    /// The current status.
    pub fn status(&self) -> Arc<ServiceStatus> {
        self.state.status()
    }

    /// Shuts down gracefully. During the drain period it still responds, reports that it is not
    /// ready and closes connections after each response. Then it accepts no more connections and
    /// finishes the pending requests.
    pub async fn stop(self) {
        self.state.begin_shutdown();
        self.stopping.cancel();
        self.tasks.close();
        // The drain period always elapses completely: clients are still served until then.
        let _ = timeout(self.drain, std::future::pending::<()>()).await;
        self.closing.cancel();
        if timeout(self.grace_period, self.tasks.wait()).await.is_err() {
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
