//! What can be typed after `fairway operator`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ValueEnum, ValueHint};
use fairway_operator::settings::PREFLIGHT_RESULTS;
use k8s_openapi::api::core::v1::Toleration;
use url::Url;

use super::content::ContentArgs;
use super::duration::{duration, some_time};
use super::lease::LeaseArgs;

#[derive(clap::Args)]
pub(crate) struct OperatorArgs {
    /// The kubeconfig of the cluster; without it `$KUBECONFIG`, `~/.kube/config`, or in a pod its
    /// ServiceAccount
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The node that the operator runs on
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub(crate) node_name: String,

    /// The image of the release that the operator is from, by digest
    #[arg(long, value_name = "IMAGE", env = "FAIRWAY_RELEASE_IMAGE")]
    pub(crate) release_image: String,

    /// Where the content of that release is
    #[arg(long, value_name = "DIR", env = "PAYLOAD_OVERRIDE", default_value = "/", value_hint = ValueHint::DirPath)]
    pub(crate) payload: PathBuf,

    /// How the log is written
    #[arg(long, value_name = "FORMAT", env = "FAIRWAY_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,

    #[command(flatten)]
    pub(crate) endpoint: EndpointArgs,

    #[command(flatten)]
    pub(crate) updates: UpdateArgs,

    #[command(flatten)]
    pub(crate) releases: ReleaseArgs,

    #[command(flatten)]
    pub(crate) preflight: PreflightArgs,

    #[command(flatten)]
    pub(crate) metrics: MetricsArgs,

    #[command(flatten)]
    pub(crate) election: ElectionArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Metrics and probes of the operator")]
pub(crate) struct EndpointArgs {
    /// Where `/metrics`, `/healthz` and `/readyz` are served; nowhere, if empty
    #[arg(long, value_name = "ADDRESS", env = "FAIRWAY_LISTEN", default_value = "0.0.0.0:9099", value_parser = listen)]
    pub(crate) listen: Listen,

    /// The certificate, and those that lead to its authority, as PEM; without it, plain HTTP
    ///
    /// It is loaded again when the file changes.
    #[arg(long, value_name = "FILE", env = "FAIRWAY_SERVING_CERT_FILE", value_hint = ValueHint::FilePath, requires = "serving_key_file")]
    pub(crate) serving_cert_file: Option<PathBuf>,

    /// The private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", env = "FAIRWAY_SERVING_KEY_FILE", value_hint = ValueHint::FilePath, requires = "serving_cert_file")]
    pub(crate) serving_key_file: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Updates and their risks")]
pub(crate) struct UpdateArgs {
    /// The update service to ask, whatever ClusterVersion says
    #[arg(long, value_name = "URL", env = "FAIRWAY_UPDATE_SERVICE", value_parser = web_url)]
    pub(crate) update_service: Option<Url>,

    /// The time between any two queries, once the burst is used up
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_PROMQL_MIN_INTERVAL", default_value = "1s", value_parser = duration)]
    pub(crate) promql_min_interval: Duration,

    /// How many queries may be sent at once after a quiet time
    #[arg(long, value_name = "COUNT", env = "FAIRWAY_PROMQL_BURST", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) promql_burst: u32,

    /// The metrics that queries may read; a name that ends with `*` is the beginning of names
    ///
    /// A query that reads others is not sent at all, and its risk stays unknown. Without a list,
    /// all may be read.
    #[arg(long, value_name = "NAME,…", env = "FAIRWAY_PROMQL_ALLOW", value_delimiter = ',')]
    pub(crate) promql_allow: Option<Vec<String>>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Releases that the cluster is to have")]
pub(crate) struct ReleaseArgs {
    /// What becomes of an update with risks that apply, or may apply, and that nobody accepted
    #[arg(long, value_name = "WHAT", env = "FAIRWAY_UNACCEPTED_RISKS", default_value = "gate")]
    pub(crate) unaccepted_risks: UnacceptedRisks,

    #[command(flatten)]
    pub(crate) content: ContentArgs,

    /// Capabilities that are on, whatever ClusterVersion says
    #[arg(
        long,
        value_name = "NAME,…",
        env = "FAIRWAY_ALWAYS_ENABLE_CAPABILITIES",
        value_delimiter = ','
    )]
    pub(crate) always_enable_capabilities: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnacceptedRisks {
    /// It is refused
    #[default]
    Gate,
    /// It begins, and the risks are recorded in its history
    Record,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Preflights: what other releases say about this cluster")]
pub(crate) struct PreflightArgs {
    /// Carry out no preflights
    ///
    /// A request for one is held, and ClusterVersion says why: it never becomes an update. Updates
    /// go on without any, whatever --preflight-on-update says.
    #[arg(long, env = "FAIRWAY_DISABLE_PREFLIGHT")]
    pub(crate) disable_preflight: bool,

    /// What is asked of a release before the cluster is updated to it
    #[arg(long, value_name = "WHAT", env = "FAIRWAY_PREFLIGHT_ON_UPDATE", default_value = "off")]
    pub(crate) preflight_on_update: OnUpdate,

    /// Where preflights put their results: a directory of the node, mounted here at the same path
    #[arg(long, value_name = "DIR", env = "FAIRWAY_PREFLIGHT_RESULTS_DIR", default_value = PREFLIGHT_RESULTS, value_hint = ValueHint::DirPath)]
    pub(crate) preflight_results_dir: PathBuf,

    /// How long a preflight may say nothing before it is given up
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_PREFLIGHT_TIMEOUT", default_value = "1h", value_parser = some_time)]
    pub(crate) preflight_timeout: Duration,

    /// The most memory that a preflight may use
    #[arg(long, value_name = "QUANTITY", env = "FAIRWAY_PREFLIGHT_MEMORY_LIMIT", default_value = "512Mi", value_parser = quantity)]
    pub(crate) preflight_memory_limit: String,

    /// The most processor time that a preflight may use
    #[arg(long, value_name = "QUANTITY", env = "FAIRWAY_PREFLIGHT_CPU_LIMIT", default_value = "500m", value_parser = quantity)]
    pub(crate) preflight_cpu_limit: String,

    /// Taints that a preflight bears, as in `kubectl taint`: KEY, KEY=VALUE, KEY:EFFECT or
    /// KEY=VALUE:EFFECT; without it, those that the operator bears
    #[arg(long, value_name = "TAINT,…", env = "FAIRWAY_PREFLIGHT_TOLERATIONS", value_delimiter = ',', value_parser = toleration)]
    pub(crate) preflight_tolerations: Option<Vec<Toleration>>,

    /// Labels that the node of a preflight has to have besides being the operator's
    ///
    /// Results come back through the disk of that node: where it does not have them, no preflight
    /// runs, and ClusterVersion says so.
    #[arg(long, value_name = "KEY=VALUE,…", env = "FAIRWAY_PREFLIGHT_NODE_SELECTOR", value_delimiter = ',', value_parser = label)]
    pub(crate) preflight_node_selector: Vec<(String, String)>,

    /// The `PriorityClass` of a preflight; without it, that of the operator
    #[arg(long, value_name = "NAME", env = "FAIRWAY_PREFLIGHT_PRIORITY_CLASS")]
    pub(crate) preflight_priority_class: Option<String>,

    /// Which network the checks of a release's operators are on
    ///
    /// That of the node is more than checks may have by default: it takes the label
    /// pod-security.kubernetes.io/enforce=privileged on the namespace
    /// openshift-cluster-version-preflight, and on OpenShift `allowHostNetwork` in the
    /// `SecurityContextConstraints` fairway-preflight-check.
    #[arg(
        long,
        value_name = "NETWORK",
        env = "FAIRWAY_PREFLIGHT_CHECK_NETWORK",
        default_value = "pod"
    )]
    pub(crate) preflight_check_network: CheckNetwork,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnUpdate {
    /// Nothing
    #[default]
    Off,
    /// What it says about this cluster: that is waited for, for at most five minutes, and recorded
    Report,
    /// The same, and whatever it finds has to be accepted like any other risk
    Require,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckNetwork {
    /// That of the cluster
    #[default]
    Pod,
    /// That of the node: for clusters in which no other leads to the API server
    Host,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Metrics of the cluster, which tell whether risks apply")]
pub(crate) struct MetricsArgs {
    /// Where Prometheus, or what speaks like it, is; without it, the Service below
    #[arg(long, value_name = "URL", env = "FAIRWAY_METRICS_URL", value_parser = web_url)]
    pub(crate) metrics_url: Option<Url>,

    /// The authorities to trust, as PEM
    #[arg(long, value_name = "FILE", env = "FAIRWAY_METRICS_CA_BUNDLE_FILE", default_value = "/etc/tls/service-ca/service-ca.crt", value_hint = ValueHint::FilePath)]
    pub(crate) metrics_ca_bundle_file: PathBuf,

    /// The token to show; only https at that address ever sees it
    #[arg(long, value_name = "FILE", env = "FAIRWAY_METRICS_TOKEN_FILE", default_value = "/var/run/secrets/kubernetes.io/serviceaccount/token", value_hint = ValueHint::FilePath)]
    pub(crate) metrics_token_file: PathBuf,

    /// The namespace of the Service
    #[arg(
        long,
        value_name = "NAME",
        env = "FAIRWAY_METRICS_NAMESPACE",
        default_value = "openshift-monitoring"
    )]
    pub(crate) metrics_namespace: String,

    /// The Service that answers queries
    #[arg(
        long,
        value_name = "NAME",
        env = "FAIRWAY_METRICS_SERVICE",
        default_value = "thanos-querier"
    )]
    pub(crate) metrics_service: String,

    /// Find the Service by its name instead of asking the API server for its address
    #[arg(long, env = "FAIRWAY_USE_DNS_FOR_SERVICES")]
    pub(crate) use_dns_for_services: bool,

    /// Answer queries from the samples in this file, and ask nobody
    ///
    /// For clusters without metrics, and for trying out what would be if.
    #[arg(long, value_name = "FILE", env = "FAIRWAY_METRICS_SNAPSHOT", conflicts_with = "metrics_url", value_hint = ValueHint::FilePath)]
    pub(crate) metrics_snapshot: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Leader election")]
pub(crate) struct ElectionArgs {
    /// The namespace of the Lease, which is the operator's own
    #[arg(
        long,
        value_name = "NAME",
        env = "CVO_NAMESPACE",
        default_value = "openshift-cluster-version"
    )]
    pub(crate) namespace: String,

    /// The pod that the operator runs in: a container that is restarted goes on leading
    #[arg(long, value_name = "UID", env = "POD_UID")]
    pub(crate) pod_uid: Option<String>,

    /// Outside of a pod: where the name is kept by which the operator knows its own Lease again
    #[arg(long, value_name = "FILE", env = "FAIRWAY_IDENTITY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) identity_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// For programs: one object a line
    Json,
}

/// An address, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen(pub(crate) Option<SocketAddr>);

fn listen(text: &str) -> Result<Listen, String> {
    if text.is_empty() {
        return Ok(Listen(None));
    }
    let parsed = text.parse().map(|address| Listen(Some(address)));
    parsed.map_err(|_| "not an address such as 0.0.0.0:9099 or [::]:9099".to_owned())
}

/// An address on the web. Without the check, `prometheus:9090` is one whose scheme is `prometheus`.
pub(super) fn web_url(text: &str) -> Result<Url, String> {
    let usable = |url: &Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    let parsed = Url::parse(text).ok().filter(usable);
    parsed.ok_or_else(|| "not an http or https URL such as https://service.example:9090".to_owned())
}

/// An amount such as `256Mi` or `500m`.
fn quantity(text: &str) -> Result<String, String> {
    const UNITS: [&str; 14] =
        ["", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let is_number = number.parse::<f64>().is_ok_and(|amount| amount.is_finite() && amount > 0.0);
    if is_number && UNITS.contains(&&text[number.len()..]) {
        return Ok(text.to_owned());
    }
    Err("not an amount such as 256Mi or 500m".to_owned())
}

/// A taint such as `dedicated=infra:NoSchedule`.
fn toleration(text: &str) -> Result<Toleration, String> {
    let (taint, effect) = match text.split_once(':') {
        Some((taint, effect)) => (taint, Some(effect)),
        None => (text, None),
    };
    let (key, value) = match taint.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (taint, None),
    };
    let is_effect = |effect| matches!(effect, "NoSchedule" | "PreferNoSchedule" | "NoExecute");
    if key.is_empty() || effect.is_some_and(|effect| !is_effect(effect)) {
        return Err("not a taint such as dedicated=infra:NoSchedule".to_owned());
    }
    Ok(Toleration {
        key: Some(key.to_owned()),
        operator: Some(if value.is_some() { "Equal" } else { "Exists" }.to_owned()),
        value: value.map(str::to_owned),
        effect: effect.map(str::to_owned),
        toleration_seconds: None,
    })
}

/// A label such as `disk=large`.
fn label(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = parts.ok_or_else(|| "not a label such as disk=large".to_owned())?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_on_the_web_can_be_asked() {
        for text in ["http://a", "https://a.example:9090/prometheus", "http://[::1]:9090"] {
            assert!(web_url(text).is_ok(), "{text}");
        }
        for text in ["", "prometheus:9090", "prometheus", "ftp://a", "unix:/a", "http://", "//a"] {
            assert!(web_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_taints_and_labels_are_read_and_anything_else_is_refused() {
        for text in ["256Mi", "1.5Gi", "500m", "2", "1e3"] {
            assert_eq!(quantity(text), Ok(text.to_owned()));
        }
        for text in ["", "Mi", "-1Gi", "0", "12XB", "inf", "1 Gi", "nan"] {
            assert!(quantity(text).is_err(), "{text}");
        }
        let read = toleration("dedicated=infra:NoSchedule").unwrap();
        assert_eq!(read.operator.as_deref(), Some("Equal"));
        assert_eq!(toleration("dedicated").unwrap().operator.as_deref(), Some("Exists"));
        for text in ["", ":NoSchedule", "a:Never", "=b"] {
            assert!(toleration(text).is_err(), "{text}");
        }
        assert_eq!(label("disk=large"), Ok(("disk".to_owned(), "large".to_owned())));
        assert!(label("disk").is_err() && label("=large").is_err());
    }
}
