//! How an operator is to be.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_risk::QueryPolicy;
use url::Url;

use crate::election::ElectionSettings;
use crate::endpoint::EndpointSettings;
use crate::stage::updates;

/// All settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The node that the operator runs on.
    pub node_name: String,
    /// The release that the operator is from.
    pub release: ReleaseSettings,
    /// How it is decided who leads.
    pub election: ElectionSettings,
    /// Where it tells about itself; nowhere, if not given.
    pub endpoint: Option<EndpointSettings>,
    /// How updates are found.
    pub updates: updates::Settings,
    /// How risks are judged.
    pub risks: RiskSettings,
    /// How releases are found and accepted.
    pub target: TargetSettings,
}

/// The release that the operator is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSettings {
    /// Its image, by digest.
    pub image: String,
    /// Where its content is.
    pub payload: PathBuf,
}

/// How risks are judged.
#[derive(Clone, Debug)]
pub struct RiskSettings {
    /// Where queries are answered.
    pub metrics: MetricsSource,
    /// The time between any two queries, once the burst is used up.
    pub min_interval: Duration,
    /// How many queries may be sent at once after a quiet time.
    pub burst: u32,
    /// Which queries may be sent.
    pub policy: QueryPolicy,
}

/// Where queries are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsSource {
    /// By a Prometheus, or whatever speaks like one.
    Prometheus(PrometheusSettings),
    /// From a file with samples.
    Snapshot(PathBuf),
}

/// How Prometheus is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusSettings {
    /// Where it is; without it, the Service is.
    pub url: Option<Url>,
    /// The namespace of the Service.
    pub namespace: String,
    /// The name of the Service.
    pub service: String,
    /// Whether the Service is found by its name, and not by asking the API server.
    pub use_dns: bool,
    /// A file with the authorities to trust.
    pub ca_bundle: PathBuf,
    /// A file with the token to show.
    pub token: PathBuf,
}

/// How releases are found and accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetSettings {
    /// What becomes of an update with risks that nobody accepted.
    pub unaccepted_risks: UnacceptedRisks,
    /// OCI layout directories in which images are looked for before registries are asked.
    pub images: Vec<PathBuf>,
    /// Which manifests this cluster gets.
    pub selection: SelectionSettings,
}

/// What becomes of an update with risks that nobody accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnacceptedRisks {
    /// It is refused.
    #[default]
    Gate,
    /// It begins, and the risks are recorded in its history, where only the update service and
    /// alerts speak of them. A cluster that is not ready is not updated.
    Record,
}

/// Which manifests of a release this cluster gets, as far as its objects do not say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionSettings {
    /// The profile of the cluster.
    pub profile: String,
    /// What operators like this one are called by manifests that are not for them.
    pub exclude: Option<String>,
    /// Capabilities that are on, whatever the spec says.
    pub always_enabled: BTreeSet<String>,
}

impl Default for SelectionSettings {
    fn default() -> Self {
        let profile = DEFAULT_PROFILE.to_owned();
        Self { profile, exclude: None, always_enabled: BTreeSet::new() }
    }
}
