//! Settings of the guard.

use std::net::SocketAddr;
use std::time::Duration;

use fairway_compat::olm::OlmPolicy;
use fairway_election::ElectionSettings;
use fairway_metrics::MetricsAuth;
use url::Url;

/// Settings of the guard.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the ClusterOperator.
    pub cluster_operator: String,
    /// Namespace of the guard.
    pub namespace: String,
    /// Handling of operators without a valid maximum version.
    pub policy: OlmPolicy,
    /// Version of the release that the guard belongs to.
    pub release_version: Option<String>,
    /// Address to listen on, for webhook and metrics.
    pub listen: SocketAddr,
    /// Address of the endpoint for probes; `None` serves none.
    pub probes: Option<SocketAddr>,
    /// Clients that may read metrics.
    pub metrics_auth: MetricsAuth,
    /// Address of the webhook for API servers.
    pub reach: WebhookAddress,
    /// Lifetime of certificates.
    pub certificate: CertificateSettings,
    /// Leader election.
    pub election: ElectionSettings,
    /// Timeouts before missing data is reported.
    pub staleness: StalenessTimeouts,
    /// Time to serve after the shutdown signal, because API servers may still have the address.
    pub shutdown_grace_period: Duration,
}

/// Address of the webhook for API servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookAddress {
    /// A Service in the guard's namespace.
    Service(String),
    /// A URL, for clusters whose API server cannot reach Services.
    Url(Url),
}

/// Lifetime of certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateSettings {
    /// Validity of a certificate.
    pub lifetime: Duration,
    /// Time between the publication of a CA and the use of its certificate.
    pub settling: Duration,
}

impl Default for CertificateSettings {
    /// One year, renewed after eight months. API servers receive a new CA bundle within seconds.
    fn default() -> Self {
        Self { lifetime: Duration::from_hours(365 * 24), settling: Duration::from_secs(30) }
    }
}

/// Timeouts before missing data is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StalenessTimeouts {
    /// Maximum wait for all inputs before the first status. After it, the guard reports what is
    /// missing, so that a stale status does not stay for ever.
    pub first_status: Duration,
    /// Duration of watch failures after which their last state is stale.
    pub stale_watch: Duration,
}

impl Default for StalenessTimeouts {
    /// Lists usually take a second. Two minutes without an API server lose the Lease, so an outage of
    /// the API server never makes a watch stale.
    fn default() -> Self {
        Self { first_status: Duration::from_secs(30), stale_watch: Duration::from_mins(2) }
    }
}
