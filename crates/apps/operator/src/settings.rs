//! How an operator is to be.

use std::collections::{BTreeMap, BTreeSet};
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
    /// How other releases are asked about this cluster.
    pub preflight: PreflightSettings,
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

/// How other releases are asked about this cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct PreflightSettings {
    /// Whether they are asked at all. A request is held either way, and never an update.
    pub enabled: bool,
    /// What is asked of a release before the cluster is updated to it.
    pub on_update: OnUpdate,
    /// Where results are put.
    pub results: ResultsDirectory,
    /// How long a run may go on without saying anything.
    pub timeout: Duration,
    /// Which network the Pods of checks are on.
    pub check_network: CheckNetwork,
    /// What a run may use, and where it may be.
    pub pod: PreflightPod,
}

/// Where results are put: a directory of the operator's node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultsDirectory {
    /// Where the operator sees it.
    pub here: PathBuf,
    /// Where it is on the node.
    pub on_node: PathBuf,
}

/// What is asked of a release before the cluster is updated to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUpdate {
    /// Nothing.
    #[default]
    Off,
    /// What it says about this cluster: that is waited for, and recorded.
    Report,
    /// The same, and what it finds counts like any other risk.
    Require,
}

/// Which network the Pods of checks are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckNetwork {
    /// That of the cluster.
    #[default]
    Pod,
    /// That of the node: for clusters in which no other leads to the API server.
    Host,
}

/// What the Pod of a preflight may use, and where it may be. What is not given is as in the
/// operator's own Deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct PreflightPod {
    /// The most memory: a quantity such as `256Mi`.
    pub memory_limit: String,
    /// The most processor time: a quantity such as `500m`.
    pub cpu_limit: String,
    /// Taints that it bears.
    pub tolerations: Option<Vec<Toleration>>,
    /// Labels that its node has to have, besides being the operator's.
    pub node_selector: BTreeMap<String, String>,
    /// How important it is: the name of a `PriorityClass`.
    pub priority_class: Option<String>,
}

impl Default for PreflightSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            on_update: OnUpdate::default(),
            results: ResultsDirectory::at(PREFLIGHT_RESULTS),
            // As long as an image may take to arrive, and all checks after it, many times over.
            timeout: Duration::from_hours(1),
            check_network: CheckNetwork::default(),
            pod: PreflightPod::default(),
        }
    }
}

/// Where results are put where nobody says otherwise.
pub const PREFLIGHT_RESULTS: &str = "/var/lib/fairway/preflight";

impl ResultsDirectory {
    /// A directory that the operator sees where the node has it.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let here = path.into();
        Self { on_node: here.clone(), here }
    }
}

impl Default for PreflightPod {
    fn default() -> Self {
        Self {
            // What checks read of a large cluster, several of them at a time.
            memory_limit: "512Mi".to_owned(),
            // It has time, and whatever else is on the node comes first.
            cpu_limit: "500m".to_owned(),
            tolerations: None,
            node_selector: BTreeMap::new(),
            priority_class: None,
        }
    }
}
