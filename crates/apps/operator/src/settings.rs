//! Settings of the operator.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_risk::QueryPolicy;
use k8s_openapi::api::core::v1::Toleration;
use url::Url;

use crate::election::ElectionSettings;
use crate::endpoint::EndpointSettings;
use crate::stage::updates;

/// All settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The node that the operator runs on.
    pub node_name: String,
    /// The release that the operator belongs to.
    pub release: ReleaseSettings,
    /// Leader election.
    pub election: ElectionSettings,
    /// Endpoint for metrics; `None` serves none.
    pub endpoint: Option<EndpointSettings>,
    /// Address of the endpoint for probes; `None` serves none.
    pub probes: Option<SocketAddr>,
    /// Retrieval of the update graph.
    pub updates: updates::Settings,
    /// Evaluation of risks.
    pub risks: RiskSettings,
    /// Retrieval and acceptance of releases.
    pub target: TargetSettings,
    /// Preflights.
    pub preflight: PreflightSettings,
    /// Maximum age of watches: older data is unknown.
    pub max_watch_age: Duration,
}

/// The release that the operator belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSettings {
    /// Release image, by digest.
    pub image: String,
    /// Directory with its payload.
    pub payload: PathBuf,
}

/// Settings for the evaluation of risks.
#[derive(Clone, Debug)]
pub struct RiskSettings {
    /// Source of metrics for PromQL queries.
    pub metrics: MetricsSource,
    /// Minimum interval between queries after the burst.
    pub min_interval: Duration,
    /// Number of queries that may be sent at once after an idle time.
    pub burst: u32,
    /// Queries that may be sent.
    pub policy: QueryPolicy,
}

/// Source of metrics for PromQL queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetricsSource {
    /// Prometheus, or a server with its API.
    Prometheus(PrometheusSettings),
    /// Metrics snapshot.
    Snapshot(PathBuf),
}

/// Settings of the Prometheus client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrometheusSettings {
    /// URL of the server; `None` uses the Service.
    pub url: Option<Url>,
    /// The namespace of the Service.
    pub namespace: String,
    /// The name of the Service.
    pub service: String,
    /// Whether the Service is resolved by DNS instead of the API server.
    pub use_dns: bool,
    /// File with the CA bundle.
    pub ca_bundle: PathBuf,
    /// File with the bearer token.
    pub token: PathBuf,
}

/// Settings for the retrieval and acceptance of releases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetSettings {
    /// Handling of updates with unaccepted risks.
    pub unaccepted_risks: UnacceptedRiskPolicy,
    /// OCI layout directories that are searched before registries.
    pub images: Vec<PathBuf>,
    /// Selection of manifests.
    pub selection: SelectionSettings,
}

/// Handling of updates with unaccepted risks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnacceptedRiskPolicy {
    /// The operator refuses the update.
    #[default]
    Gate,
    /// The operator starts the update and records the risks in its history, if only the update
    /// service and alerts report them. Other risks block the update.
    Record,
}

/// Selection of manifests, as far as the objects of the cluster do not determine it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionSettings {
    /// Cluster profile.
    pub profile: String,
    /// Name of this kind of operator in manifests that exclude it.
    pub exclude: Option<String>,
    /// Capabilities that are always enabled.
    pub always_enabled: BTreeSet<String>,
}

impl Default for SelectionSettings {
    fn default() -> Self {
        let profile = DEFAULT_PROFILE.to_owned();
        Self { profile, exclude: None, always_enabled: BTreeSet::new() }
    }
}

/// Settings of preflights.
#[derive(Clone, Debug, PartialEq)]
pub struct PreflightSettings {
    /// Whether preflights run. A request for one never starts an update.
    pub enabled: bool,
    /// Preflight before an update.
    pub on_update: OnUpdate,
    /// Directory of the results.
    pub results: ResultsDirectory,
    /// Timeout of a run without new results.
    pub timeout: Duration,
    /// Network of the Pods of checks.
    pub check_network: CheckNetwork,
    /// Destinations that Pods of a preflight reach in addition to the API server and DNS, as CIDRs.
    pub egress: Vec<String>,
    /// Whether checks of a verified release may read Secrets that the request allows.
    pub grant_secrets: bool,
    /// Resources and placement of a run.
    pub pod: PreflightPod,
}

/// Directory of the results on the operator's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultsDirectory {
    /// Path in the operator's container.
    pub here: PathBuf,
    /// Path on the node.
    pub on_node: PathBuf,
}

/// Preflight before an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUpdate {
    /// No preflight.
    #[default]
    Off,
    /// The operator waits for the results and records them.
    Report,
    /// The same, and its findings are risks that must be accepted.
    Require,
}

/// Network of the Pods of a preflight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckNetwork {
    /// Pod network of the cluster.
    #[default]
    Pod,
    /// Host network, for clusters whose Pod network does not reach the API server.
    Host,
}

/// Resources and placement of the Pod of a preflight. Unset values are those of the operator's
/// own Deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct PreflightPod {
    /// Memory limit: a quantity such as `256Mi`.
    pub memory_limit: String,
    /// CPU limit: a quantity such as `500m`.
    pub cpu_limit: String,
    /// Tolerations of the Pod.
    pub tolerations: Option<Vec<Toleration>>,
    /// Required labels of the node, in addition to being the operator's node.
    pub node_selector: BTreeMap<String, String>,
    /// Name of the `PriorityClass`.
    pub priority_class: Option<String>,
    /// Network of the Pod.
    pub network: CheckNetwork,
}

impl Default for PreflightSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            on_update: OnUpdate::default(),
            results: ResultsDirectory::at(PREFLIGHT_RESULTS),
            // Several times the duration of an image pull and all checks.
            timeout: Duration::from_hours(1),
            check_network: CheckNetwork::default(),
            egress: Vec::new(),
            grant_secrets: false,
            pod: PreflightPod::default(),
        }
    }
}

/// Default directory of the results.
pub const PREFLIGHT_RESULTS: &str = "/var/lib/fairway/preflight";

impl ResultsDirectory {
    /// A directory with the same path in the container and on the node.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let here = path.into();
        Self { on_node: here.clone(), here }
    }
}

impl Default for PreflightPod {
    fn default() -> Self {
        Self {
            // Several concurrent checks keep objects of a large cluster in memory.
            memory_limit: "512Mi".to_owned(),
            // A preflight is not urgent; other workloads of the node come first.
            cpu_limit: "500m".to_owned(),
            tolerations: None,
            node_selector: BTreeMap::new(),
            priority_class: None,
            network: CheckNetwork::default(),
        }
    }
}
