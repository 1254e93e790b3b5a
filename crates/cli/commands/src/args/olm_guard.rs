//! Arguments of `fairway olm-guard`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use url::Url;

use super::duration::duration;
use super::lease::LeaseArgs;
use super::olm::{Invalid, Missing};
use super::operator::{Listen, LogFormat, MetricsAuth, listen};

#[derive(clap::Args)]
pub(crate) struct OlmGuardArgs {
    /// Kubeconfig of the cluster; default: `$KUBECONFIG`, `~/.kube/config`, or the ServiceAccount
    /// of the pod
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Namespace of the guard, with its Secret, Service and Lease
    #[arg(
        long,
        value_name = "NAME",
        env = "FAIRWAY_NAMESPACE",
        default_value = "openshift-cluster-version"
    )]
    pub(crate) namespace: String,

    /// Log format
    #[arg(long, value_name = "FORMAT", env = "FAIRWAY_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,

    #[command(flatten)]
    pub(crate) report: ReportArgs,

    #[command(flatten)]
    pub(crate) webhook: WebhookArgs,

    #[command(flatten)]
    pub(crate) election: GuardElectionArgs,
}

#[derive(clap::Args)]
#[command(next_help_heading = "ClusterOperator")]
pub(crate) struct ReportArgs {
    /// Name of the ClusterOperator of the guard; if the cluster runs OLM, choose a name that OLM
    /// does not use
    #[arg(
        long,
        value_name = "NAME",
        env = "FAIRWAY_OLM_CLUSTER_OPERATOR",
        default_value = "operator-lifecycle-manager"
    )]
    pub(crate) cluster_operator: String,

    /// Policy for operators with an invalid maximum version
    #[arg(long, value_name = "WHAT", env = "FAIRWAY_OLM_INVALID", default_value = "allow")]
    pub(crate) invalid: Invalid,

    /// Policy for operators without a maximum version
    #[arg(long, value_name = "WHAT", env = "FAIRWAY_OLM_MISSING", default_value = "warn")]
    pub(crate) missing: Missing,

    /// Version of the release that contains the guard
    #[arg(long, value_name = "VERSION", env = "RELEASE_VERSION")]
    pub(crate) release_version: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Webhook")]
pub(crate) struct WebhookArgs {
    /// Listen address for the webhook and `/metrics`, both with TLS
    ///
    /// If the address is in use, the guard starts without it and retries.
    #[arg(long, value_name = "ADDRESS", env = "FAIRWAY_LISTEN", default_value = "0.0.0.0:9443")]
    pub(crate) listen: SocketAddr,

    /// Listen address for `/healthz` and `/readyz`, without TLS; empty: disabled
    ///
    /// Choose a loopback address, so that connections from other hosts cannot delay probes.
    #[arg(long, value_name = "ADDRESS", env = "FAIRWAY_PROBE_LISTEN", default_value = "127.0.0.1:9444", value_parser = listen)]
    pub(crate) probe_listen: Listen,

    /// Clients that may read `/metrics`
    #[arg(long, value_name = "WHO", env = "FAIRWAY_METRICS_AUTH", default_value = "token")]
    pub(crate) metrics_auth: MetricsAuth,

    /// Service of the webhook
    #[arg(long, value_name = "NAME", env = "FAIRWAY_OLM_SERVICE", default_value = "olm-guard")]
    pub(crate) service: String,

    /// URL of the webhook, for API servers that cannot reach Services
    #[arg(long, value_name = "URL", env = "FAIRWAY_OLM_WEBHOOK_URL", value_parser = webhook_url)]
    pub(crate) webhook_url: Option<Url>,

    /// Validity of the webhook certificate; the guard renews it when a third of the validity
    /// remains
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_OLM_CERTIFICATE_LIFETIME", default_value = "8760h", value_parser = lifetime)]
    pub(crate) certificate_lifetime: Duration,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Leader election")]
pub(crate) struct GuardElectionArgs {
    /// UID of the pod, so that a restarted container stays the leader
    #[arg(long, value_name = "UID", env = "POD_UID")]
    pub(crate) pod_uid: Option<String>,

    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
}

/// Parses the URL of the webhook. API servers require https, and the guard serves one path.
fn webhook_url(text: &str) -> Result<Url, String> {
    let mut url: Url = text.parse().map_err(|error| format!("{error}"))?;
    if url.scheme() != "https" || url.host().is_none() {
        let example = "https://127.0.0.1:9443/validate";
        return Err(format!("webhook URL must use https, such as {example}"));
    }
    if !url.username().is_empty() || url.query().is_some() || url.fragment().is_some() {
        return Err("webhook URL must not contain a user, a query or a fragment".to_owned());
    }
    if url.path() == "/" {
        url.set_path("/validate");
    }
    match url.path() {
        "/validate" => Ok(url),
        other => Err(format!("webhook path must be /validate, not {other}")),
    }
}

/// Parses the lifetime of a certificate, which must exceed the time until API servers trust the next one.
fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = duration(text)?;
    if lifetime < MIN_LIFETIME {
        return Err("too short: the minimum is 1h".to_owned());
    }
    Ok(lifetime)
}

/// Minimum lifetime of a certificate: clocks may differ by minutes, and administrators need time to
/// notice a failed renewal.
const MIN_LIFETIME: Duration = Duration::from_hours(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhook_url_must_be_https_with_the_path_of_the_guard() {
        let told = |text: &str| webhook_url(text).map_or_else(|why| why, |url| url.to_string());
        let all = [
            "https://127.0.0.1:9443",
            "https://guard.example/validate",
            "http://127.0.0.1:9443/validate",
            "https://127.0.0.1:9443/webhook",
            "https://me@127.0.0.1/validate",
            "https://127.0.0.1/validate?a=b",
            "guard",
        ];
        insta::assert_snapshot!(all.map(told).join("\n"), @"
        https://127.0.0.1:9443/validate
        https://guard.example/validate
        webhook URL must use https, such as https://127.0.0.1:9443/validate
        webhook path must be /validate, not /webhook
        webhook URL must not contain a user, a query or a fragment
        webhook URL must not contain a user, a query or a fragment
        relative URL without a base
        ");
    }

    #[test]
    fn short_lifetime_is_refused() {
        assert_eq!(lifetime("24h"), Ok(Duration::from_hours(24)));
        assert_eq!(lifetime("59m").unwrap_err(), "too short: the minimum is 1h");
    }
}
