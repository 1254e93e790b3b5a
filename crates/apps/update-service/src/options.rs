//! How a service is to be.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use fairway_graph::{Files, ReleaseImage};
use fairway_http::TlsFiles;

use crate::source::Watched;

/// Where clients expect graphs.
pub const DEFAULT_PREFIX: &str = "/api/upgrades_info";

/// How a service is to be.
pub struct Options {
    /// Where it listens; port 0 is one that is free.
    pub address: SocketAddr,
    /// Where it answers probes, in plain HTTP, if not there: clients then cannot see them, nor keep
    /// others from them.
    pub status_address: Option<SocketAddr>,
    /// What paths begin with.
    pub prefix: String,
    /// Where graph-data comes from.
    pub graph_data: Watched<Files>,
    /// Where releases come from.
    pub releases: Watched<Vec<ReleaseImage>>,
    /// A directory with signatures of release images.
    pub signatures: Option<PathBuf>,
    /// Certificate and key; without them, plain HTTP.
    pub tls: Option<TlsFiles>,
    /// For how long caches may answer in place of the service.
    pub max_age: Duration,
    /// What clients get.
    pub limits: Limits,
}

impl Options {
    /// A service with these sources, and otherwise as most people want it.
    pub fn new(
        address: SocketAddr,
        graph_data: Watched<Files>,
        releases: Watched<Vec<ReleaseImage>>,
    ) -> Self {
        Self {
            address,
            status_address: None,
            prefix: DEFAULT_PREFIX.to_owned(),
            graph_data,
            releases,
            signatures: None,
            tls: None,
            // As long as the existing service remembers its own graph.
            max_age: Duration::from_mins(1),
            limits: Limits::default(),
        }
    }
}

/// What clients get.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections that are served at once. When three quarters are taken, the others end after one
    /// answer; for an eighth more, only probes are answered.
    pub connections: usize,
    /// How long a client may take for the headers of a request, or keep a connection unused.
    pub headers: Duration,
    /// How long a client may take to read an answer.
    pub answer: Duration,
    /// How long a service that stops still answers, until balancers send nobody there.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // With the longest headers each, they hold 128 MiB.
            connections: 4096,
            // Balancers keep connections for a minute; most clients ask once and leave.
            headers: Duration::from_secs(75),
            // The largest answers have 400 KiB, uncompressed: 7 KiB a second.
            answer: Duration::from_mins(1),
            // Kubernetes tells balancers within a second or two.
            drain: Duration::from_secs(5),
        }
    }
}
