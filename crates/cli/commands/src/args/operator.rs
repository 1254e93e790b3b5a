//! Arguments of `fairway operator`.

use std::net::{IpAddr, SocketAddr};
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
    /// Kubeconfig of the cluster; default: `$KUBECONFIG`, `~/.kube/config`, or the ServiceAccount
    /// of the pod
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Node on which the operator runs
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    pub(crate) node_name: String,

    /// Release image of the operator, pinned by digest
    #[arg(long, value_name = "IMAGE", env = "FAIRWAY_RELEASE_IMAGE")]
    pub(crate) release_image: String,

    /// Directory with the payload of the release
    #[arg(long, value_name = "DIR", env = "PAYLOAD_OVERRIDE", default_value = "/", value_hint = ValueHint::DirPath)]
    pub(crate) payload: PathBuf,

    /// Log format
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
#[command(next_help_heading = "Metrics and probes")]
pub(crate) struct EndpointArgs {
    /// Listen address for `/metrics`; empty: disabled
    ///
    /// If the address is in use, the operator starts without it and retries.
    #[arg(long, value_name = "ADDRESS", env = "FAIRWAY_LISTEN", default_value = "0.0.0.0:9099", value_parser = listen)]
    pub(crate) listen: Listen,

    /// Listen address for `/healthz` and `/readyz`, without TLS; empty: disabled
    ///
    /// Choose a loopback address, so that connections from other hosts cannot delay probes.
    #[arg(long, value_name = "ADDRESS", env = "FAIRWAY_PROBE_LISTEN", default_value = "127.0.0.1:9098", value_parser = listen)]
    pub(crate) probe_listen: Listen,

    /// Certificate chain (PEM); default: plain HTTP
    ///
    /// The operator reloads the file when it changes.
    #[arg(long, value_name = "FILE", env = "FAIRWAY_SERVING_CERT_FILE", value_hint = ValueHint::FilePath, requires = "serving_key_file")]
    pub(crate) serving_cert_file: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", env = "FAIRWAY_SERVING_KEY_FILE", value_hint = ValueHint::FilePath, requires = "serving_cert_file")]
    pub(crate) serving_key_file: Option<PathBuf>,

    /// Clients that may read `/metrics`
    #[arg(long, value_name = "WHO", env = "FAIRWAY_METRICS_AUTH", default_value = "token")]
    pub(crate) metrics_auth: MetricsAuth,

    /// CA bundle (PEM) of client certificates that may read `/metrics` without a token
    ///
    /// The CA must issue certificates to monitoring systems only. The operator reloads the file when
    /// it changes; without the file, clients need a token.
    #[arg(long, value_name = "FILE", env = "FAIRWAY_CLIENT_CA_FILE", value_hint = ValueHint::FilePath, requires = "serving_cert_file")]
    pub(crate) client_ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MetricsAuth {
    /// Clients with a bearer token whose user may get the non-resource URL /metrics
    #[default]
    Token,
    /// All clients
    None,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Updates and risks")]
pub(crate) struct UpdateArgs {
    /// Update service; overrides ClusterVersion
    #[arg(long, value_name = "URL", env = "FAIRWAY_UPDATE_SERVICE", value_parser = web_url)]
    pub(crate) update_service: Option<Url>,

    /// Minimum interval between queries after a burst
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_PROMQL_MIN_INTERVAL", default_value = "1s", value_parser = duration)]
    pub(crate) promql_min_interval: Duration,

    /// Number of queries that may be sent in a burst
    #[arg(long, value_name = "COUNT", env = "FAIRWAY_PROMQL_BURST", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) promql_burst: u32,

    /// Metrics that queries may read; a trailing `*` matches a prefix
    ///
    /// The operator does not send a query that reads other metrics, and its risk stays unknown. By
    /// default, all metrics are allowed.
    #[arg(long, value_name = "NAME,…", env = "FAIRWAY_PROMQL_ALLOW", value_delimiter = ',')]
    pub(crate) promql_allow: Option<Vec<String>>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Releases")]
pub(crate) struct ReleaseArgs {
    /// Refuse requested updates with unaccepted risks, or start them and record the risks
    #[arg(long, value_name = "WHAT", env = "FAIRWAY_UNACCEPTED_RISKS", default_value = "gate")]
    pub(crate) unaccepted_risks: UnacceptedRisks,

    #[command(flatten)]
    pub(crate) content: ContentArgs,

    /// Capabilities to enable in addition to those of ClusterVersion
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
    /// Refuse the update
    #[default]
    Gate,
    /// Start the update, and record the risks in its history
    Record,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Preflights")]
pub(crate) struct PreflightArgs {
    /// Disable preflights
    ///
    /// The operator holds requested preflights, reports the reason in ClusterVersion, and never
    /// treats them as updates. Updates run without preflights, regardless of --preflight-on-update.
    #[arg(long, env = "FAIRWAY_DISABLE_PREFLIGHT")]
    pub(crate) disable_preflight: bool,

    /// Preflight of the target release before an update
    #[arg(long, value_name = "WHAT", env = "FAIRWAY_PREFLIGHT_ON_UPDATE", default_value = "off")]
    pub(crate) preflight_on_update: OnUpdate,

    /// Directory for preflight results on the node, mounted at the same path
    #[arg(long, value_name = "DIR", env = "FAIRWAY_PREFLIGHT_RESULTS_DIR", default_value = PREFLIGHT_RESULTS, value_hint = ValueHint::DirPath)]
    pub(crate) preflight_results_dir: PathBuf,

    /// Timeout for a preflight without new results
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_PREFLIGHT_TIMEOUT", default_value = "1h", value_parser = some_time)]
    pub(crate) preflight_timeout: Duration,

    /// Memory limit of a preflight
    #[arg(long, value_name = "QUANTITY", env = "FAIRWAY_PREFLIGHT_MEMORY_LIMIT", default_value = "512Mi", value_parser = quantity)]
    pub(crate) preflight_memory_limit: String,

    /// CPU limit of a preflight
    #[arg(long, value_name = "QUANTITY", env = "FAIRWAY_PREFLIGHT_CPU_LIMIT", default_value = "500m", value_parser = quantity)]
    pub(crate) preflight_cpu_limit: String,

    /// Taints that a preflight tolerates: KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT; default:
    /// the tolerations of the operator
    #[arg(long, value_name = "TAINT,…", env = "FAIRWAY_PREFLIGHT_TOLERATIONS", value_delimiter = ',', value_parser = toleration)]
    pub(crate) preflight_tolerations: Option<Vec<Toleration>>,

    /// Labels that the node of the operator needs to run a preflight
    ///
    /// The results pass through the disk of this node. If the labels do not match, the operator
    /// runs no preflight and reports that in ClusterVersion.
    #[arg(long, value_name = "KEY=VALUE,…", env = "FAIRWAY_PREFLIGHT_NODE_SELECTOR", value_delimiter = ',', value_parser = label)]
    pub(crate) preflight_node_selector: Vec<(String, String)>,

    /// `PriorityClass` of a preflight; default: that of the operator
    #[arg(long, value_name = "NAME", env = "FAIRWAY_PREFLIGHT_PRIORITY_CLASS")]
    pub(crate) preflight_priority_class: Option<String>,

    /// Network of the target release in a preflight
    ///
    /// The host network reaches the ports of the node and, in a cloud, its metadata service. On
    /// OpenShift, it needs `allowHostNetwork` in the `SecurityContextConstraints`
    /// fairway-preflight-runner.
    #[arg(long, value_name = "NETWORK", env = "FAIRWAY_PREFLIGHT_NETWORK", default_value = "pod")]
    pub(crate) preflight_network: CheckNetwork,

    /// Network in which the checks of the release's operators run
    ///
    /// The host network needs the label pod-security.kubernetes.io/enforce=privileged on the
    /// namespace openshift-cluster-version-preflight, and on OpenShift `allowHostNetwork` in the
    /// `SecurityContextConstraints` fairway-preflight-check.
    #[arg(
        long,
        value_name = "NETWORK",
        env = "FAIRWAY_PREFLIGHT_CHECK_NETWORK",
        default_value = "pod"
    )]
    pub(crate) preflight_check_network: CheckNetwork,

    /// Destinations that a preflight and its checks reach in addition to the API server and DNS
    ///
    /// The operator creates a `NetworkPolicy`, which the network plugin of the cluster enforces. It
    /// does not apply to pods on the host network.
    #[arg(long, value_name = "CIDR,…", env = "FAIRWAY_PREFLIGHT_EGRESS", value_delimiter = ',', value_parser = cidr)]
    pub(crate) preflight_egress: Vec<String>,

    /// Grant checks of verified releases the Secrets that a request allows with `--allow-secrets`
    ///
    /// Without this flag, a check whose role contains Secrets is refused.
    #[arg(long, env = "FAIRWAY_PREFLIGHT_GRANT_SECRETS")]
    pub(crate) preflight_grant_secrets: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnUpdate {
    /// No preflight
    #[default]
    Off,
    /// Run a preflight, wait at most five minutes, and record its findings
    Report,
    /// Run a preflight, and require that its findings are accepted like risks
    Require,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckNetwork {
    /// Pod network
    #[default]
    Pod,
    /// Host network, for clusters in which pods cannot reach the API server
    Host,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Risk evaluation")]
pub(crate) struct MetricsArgs {
    /// URL of Prometheus or a compatible service; default: the Service of `--metrics-service`
    #[arg(long, value_name = "URL", env = "FAIRWAY_METRICS_URL", value_parser = web_url)]
    pub(crate) metrics_url: Option<Url>,

    /// CA bundle for Prometheus (PEM)
    #[arg(long, value_name = "FILE", env = "FAIRWAY_METRICS_CA_BUNDLE_FILE", default_value = "/etc/tls/service-ca/service-ca.crt", value_hint = ValueHint::FilePath)]
    pub(crate) metrics_ca_bundle_file: PathBuf,

    /// File with the bearer token for Prometheus; sent only over HTTPS
    #[arg(long, value_name = "FILE", env = "FAIRWAY_METRICS_TOKEN_FILE", default_value = "/var/run/secrets/kubernetes.io/serviceaccount/token", value_hint = ValueHint::FilePath)]
    pub(crate) metrics_token_file: PathBuf,

    /// Namespace of the Service of `--metrics-service`
    #[arg(
        long,
        value_name = "NAME",
        env = "FAIRWAY_METRICS_NAMESPACE",
        default_value = "openshift-monitoring"
    )]
    pub(crate) metrics_namespace: String,

    /// Service of Prometheus or a compatible service
    #[arg(
        long,
        value_name = "NAME",
        env = "FAIRWAY_METRICS_SERVICE",
        default_value = "thanos-querier"
    )]
    pub(crate) metrics_service: String,

    /// Resolve the Service by DNS instead of reading its address from the API server
    #[arg(long, env = "FAIRWAY_USE_DNS_FOR_SERVICES")]
    pub(crate) use_dns_for_services: bool,

    /// Metrics snapshot that replaces Prometheus
    ///
    /// Use it in clusters without metrics, or to test risk rules.
    #[arg(long, value_name = "FILE", env = "FAIRWAY_METRICS_SNAPSHOT", conflicts_with = "metrics_url", value_hint = ValueHint::FilePath)]
    pub(crate) metrics_snapshot: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Leader election")]
pub(crate) struct ElectionArgs {
    /// Namespace of the operator and its Lease
    #[arg(
        long,
        value_name = "NAME",
        env = "CVO_NAMESPACE",
        default_value = "openshift-cluster-version"
    )]
    pub(crate) namespace: String,

    /// UID of the pod, so that a restarted container stays the leader
    #[arg(long, value_name = "UID", env = "POD_UID")]
    pub(crate) pod_uid: Option<String>,

    /// File with the identity of the operator in the Lease, for use outside of a pod
    #[arg(long, value_name = "FILE", env = "FAIRWAY_IDENTITY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) identity_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Human-readable text
    #[default]
    Text,
    /// JSON, one object per line
    Json,
}

/// An address, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen(pub(crate) Option<SocketAddr>);

pub(super) fn listen(text: &str) -> Result<Listen, String> {
    if text.is_empty() {
        return Ok(Listen(None));
    }
    let parsed = text.parse().map(|address| Listen(Some(address)));
    parsed.map_err(|_| "not an address such as 0.0.0.0:9099 or [::]:9099".to_owned())
}

/// Parses an http or https URL. Without the check, `prometheus:9090` is a URL with the scheme
/// `prometheus`.
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
    Err("not a quantity such as 256Mi or 500m".to_owned())
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

/// A network such as `192.0.2.0/24`.
fn cidr(text: &str) -> Result<String, String> {
    let is_cidr = text.split_once('/').is_some_and(|(address, length)| {
        let longest = match address.parse() {
            Ok(IpAddr::V4(_)) => 32,
            Ok(IpAddr::V6(_)) => 128,
            Err(_) => return false,
        };
        length.parse::<u8>().is_ok_and(|length| length <= longest)
    });
    if is_cidr {
        return Ok(text.to_owned());
    }
    Err("not a network such as 192.0.2.0/24".to_owned())
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
    fn web_url_with_other_scheme_is_refused() {
        for text in ["http://a", "https://a.example:9090/prometheus", "http://[::1]:9090"] {
            assert!(web_url(text).is_ok(), "{text}");
        }
        for text in ["", "prometheus:9090", "prometheus", "ftp://a", "unix:/a", "http://", "//a"] {
            assert!(web_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cidr_requires_address_and_length() {
        for text in ["192.0.2.0/24", "0.0.0.0/0", "fd00::/8"] {
            assert_eq!(cidr(text).as_deref(), Ok(text));
        }
        for text in ["", "192.0.2.0", "192.0.2.0/33", "fd00::/129", "example.com/24"] {
            assert!(cidr(text).is_err(), "{text}");
        }
    }

    #[test]
    fn invalid_quantities_taints_and_labels_are_refused() {
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
