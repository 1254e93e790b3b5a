//! What the operator says about itself over HTTP: `/metrics`, `/healthz` and `/readyz`.

mod answer;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use fairway_http::{Certificate, Listener};
pub use fairway_http::{TlsError, TlsFiles};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::metrics::Metrics;

/// How the endpoint is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Certificate and key; without them, plain HTTP.
    pub tls: Option<TlsFiles>,
}

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// There is no certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// How far the operator is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It waits for the lease.
    #[default]
    Waiting,
    /// It leads, and has not seen all of the cluster yet.
    Starting,
    /// It leads.
    Leading,
}

/// What answers are made of.
#[derive(Clone)]
pub struct Operations {
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// For `/readyz`.
    pub phase: watch::Receiver<Phase>,
    /// Whether it was told to stop.
    pub stop: CancellationToken,
}

/// Listens, and answers until it is told to close. Where it listens is returned: port 0 is one
/// that is free.
pub async fn start(
    settings: EndpointSettings,
    operations: Operations,
    tasks: &TaskTracker,
    closing: CancellationToken,
) -> Result<SocketAddr, EndpointError> {
    let certificate = settings.tls.map(Certificate::load_or_make).transpose()?.map(Arc::new);
    let address = settings.listen;
    let failed = |source| EndpointError::Listen { address, source };
    let socket = TcpListener::bind(address).await.map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    if let Some(certificate) = &certificate {
        let metrics = Arc::clone(&operations.metrics);
        let keep = Arc::clone(certificate).keep(closing.clone(), move || metrics.tls_error());
        tasks.spawn(keep);
    }
    let listener = Listener {
        secured: Arc::new(move || certificate.as_ref().map(|it| it.config())),
        answer: Arc::new(move |request| {
            Box::pin(std::future::ready(answer::answer(&operations, &request)))
        }),
        tasks: tasks.clone(),
        closing,
    };
    tasks.spawn(listener.run(socket));
    Ok(address)
}
