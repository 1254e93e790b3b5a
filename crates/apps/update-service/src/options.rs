//! Options of the service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use fairway_graph::{Files, ReleaseImage};
use fairway_http::TlsFiles;

use crate::source::PolledSource;

/// Path prefix that clients expect.
pub const DEFAULT_PREFIX: &str = "/api/upgrades_info";

/// Options of the service.
pub struct ServiceOptions {
    /// Address to listen on; port 0 selects a free port.
    pub address: SocketAddr,
    /// Separate address for probes, plain HTTP: clients then neither see probes nor block them.
    pub status_address: Option<SocketAddr>,
    /// Path prefix.
    pub prefix: String,
    /// Source of graph-data.
    pub graph_data: PolledSource<Files>,
    /// Source of releases.
    pub releases: PolledSource<Vec<ReleaseImage>>,
    /// Directory with signatures of release images.
    pub signatures: Option<PathBuf>,
    /// Certificate and key; plain HTTP without them.
    pub tls: Option<TlsFiles>,
    /// `max-age` of responses.
    pub max_age: Duration,
    /// Limits of connections.
    pub limits: ServiceLimits,
    /// Handling of blocked-edge files that new graph-data no longer has.
    pub removed_blocks: RemovedBlockPolicy,
    /// Directory of the served graph-data. A restarted service continues with it, so that a restart
    /// does not accept removed blocked-edge files.
    pub state_directory: Option<PathBuf>,
}

/// Handling of blocked-edge files that new graph-data no longer has. A file that moves with the same
/// content is not removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RemovedBlockPolicy {
    /// The new data is served.
    #[default]
    Accept,
    /// The previous data is served until the removal of each file is accepted.
    Hold {
        /// Accepted removals: paths such as `blocked-edges/5.1.2-Risk.yaml`, or prefixes of them that
        /// end with `*`.
        accepted: Vec<String>,
    },
}

impl RemovedBlockPolicy {
    /// Whether new data without a file is served.
    pub(crate) fn accepts(&self, file: &str) -> bool {
        match self {
            Self::Accept => true,
            Self::Hold { accepted } => accepted.iter().any(|pattern| {
                pattern == file
                    || pattern.strip_suffix('*').is_some_and(|prefix| file.starts_with(prefix))
            }),
        }
    }
}

impl ServiceOptions {
    /// Options with these sources and default values.
    pub fn new(
        address: SocketAddr,
        graph_data: PolledSource<Files>,
        releases: PolledSource<Vec<ReleaseImage>>,
    ) -> Self {
        Self {
            address,
            status_address: None,
            prefix: DEFAULT_PREFIX.to_owned(),
            graph_data,
            releases,
            signatures: None,
            tls: None,
            // The interval in which Cincinnati refreshes its graph.
            max_age: Duration::from_mins(1),
            limits: ServiceLimits::default(),
            removed_blocks: RemovedBlockPolicy::default(),
            state_directory: None,
        }
    }
}

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct ServiceLimits {
    /// Maximum number of concurrent connections. Above three quarters, new ones are closed after
    /// one response. An eighth more is accepted for probes only.
    pub connections: usize,
    /// Timeout for the headers of a request, and of idle connections.
    pub headers: Duration,
    /// Timeout for reading a response.
    pub answer: Duration,
    /// Time for which a stopping service still responds, until load balancers remove it.
    pub drain: Duration,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            // With headers of the maximum size, they use 128 MiB.
            connections: 4096,
            // Load balancers keep idle connections for a minute.
            headers: Duration::from_secs(75),
            // The largest responses have 400 KiB uncompressed: 7 KiB per second.
            answer: Duration::from_mins(1),
            // Kubernetes updates endpoints within a second or two.
            drain: Duration::from_secs(5),
        }
    }
}
