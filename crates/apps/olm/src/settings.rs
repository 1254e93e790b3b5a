//! How a guard is to be.

use std::net::SocketAddr;
use std::time::Duration;

use fairway_compat::olm::Policy;
use fairway_election::ElectionSettings;
use url::Url;

/// How a guard is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The ClusterOperator that it writes.
    pub cluster_operator: String,
    /// The namespace that it runs in.
    pub namespace: String,
    /// What it makes of operators of which nobody knows up to which version they run.
    pub policy: Policy,
    /// The version of the release that it is part of, if it is.
    pub release_version: Option<String>,
    /// Where it listens, for the webhook, metrics and probes.
    pub listen: SocketAddr,
    /// How the API server reaches its webhook.
    pub reach: Reach,
    /// How long certificates last.
    pub certificate: CertificateSettings,
    /// Which of several guards writes.
    pub election: ElectionSettings,
    /// How long it waits before it says what it does not see.
    pub patience: Patience,
    /// How long it goes on answering when it is to end: API servers may still be led to it.
    pub farewell: Duration,
}

/// How the API server reaches a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// By the Service of that name, in the guard's namespace.
    Service(String),
    /// By a URL, on clusters whose API server cannot reach Services.
    Url(Url),
}

/// How long certificates last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateSettings {
    /// How long one is valid.
    pub lifetime: Duration,
    /// How long a new authority has to be known before its certificate is used.
    pub settling: Duration,
}

impl Default for CertificateSettings {
    /// A year, renewed after eight months. API servers hear of a new authority within a second or
    /// two, however many there are.
    fn default() -> Self {
        Self { lifetime: Duration::from_hours(365 * 24), settling: Duration::from_secs(30) }
    }
}

/// How long a guard waits before it says what it does not see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How long its first word waits for everything that belongs to it. Then what is known is said,
    /// and what cannot be seen: an old word must not stand for ever.
    pub first_word: Duration,
    /// How long a watch may fail before what it saw does not count any more.
    pub blind: Duration,
}

impl Default for Patience {
    /// Half a minute for lists that usually take a second. Two minutes without an API server cost
    /// the Lease, so an API server that is away is never taken for a watch that fails.
    fn default() -> Self {
        Self { first_word: Duration::from_secs(30), blind: Duration::from_mins(2) }
    }
}
