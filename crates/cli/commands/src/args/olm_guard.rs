//! What can be typed after `fairway olm-guard`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ValueEnum, ValueHint};
use url::Url;

use super::duration::duration;
use super::lease::LeaseArgs;
use super::operator::LogFormat;

#[derive(clap::Args)]
pub(crate) struct OlmGuardArgs {
    /// The kubeconfig of the cluster; without it `$KUBECONFIG`, `~/.kube/config`, or in a pod its
    /// ServiceAccount
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The namespace that the guard runs in: its Secret, its Service and its Lease are there
    #[arg(
        long,
        value_name = "NAME",
        env = "FAIRWAY_NAMESPACE",
        default_value = "openshift-cluster-version"
    )]
    pub(crate) namespace: String,

    /// How the log is written
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
#[command(next_help_heading = "What the platform is told")]
pub(crate) struct ReportArgs {
    /// The ClusterOperator that the guard writes; beside a real OLM, another name than OLM's
    #[arg(
        long,
        value_name = "NAME",
        env = "FAIRWAY_OLM_CLUSTER_OPERATOR",
        default_value = "operator-lifecycle-manager"
    )]
    pub(crate) cluster_operator: String,

    /// What is made of operators whose maximum version cannot be read
    #[arg(long, value_name = "WHAT", env = "FAIRWAY_OLM_INVALID", default_value = "allow")]
    pub(crate) invalid: Invalid,

    /// What is made of operators that declare no maximum version
    #[arg(long, value_name = "WHAT", env = "FAIRWAY_OLM_MISSING", default_value = "warn")]
    pub(crate) missing: Missing,

    /// The version of the release that the guard is part of, if it is
    #[arg(long, value_name = "VERSION", env = "RELEASE_VERSION")]
    pub(crate) release_version: Option<String>,
}

#[derive(clap::Args)]
#[command(next_help_heading = "The webhook")]
pub(crate) struct WebhookArgs {
    /// Where the webhook, `/metrics`, `/healthz` and `/readyz` are served, all by TLS
    #[arg(long, value_name = "ADDRESS", env = "FAIRWAY_LISTEN", default_value = "0.0.0.0:9443")]
    pub(crate) listen: SocketAddr,

    /// The Service by which the API server reaches the webhook
    #[arg(long, value_name = "NAME", env = "FAIRWAY_OLM_SERVICE", default_value = "olm-guard")]
    pub(crate) service: String,

    /// Where the API server reaches the webhook, if it cannot reach Services
    #[arg(long, value_name = "URL", env = "FAIRWAY_OLM_WEBHOOK_URL", value_parser = webhook_url)]
    pub(crate) webhook_url: Option<Url>,

    /// How long a certificate of the webhook is valid; it is renewed when a third of that is left
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_OLM_CERTIFICATE_LIFETIME", default_value = "8760h", value_parser = lifetime)]
    pub(crate) certificate_lifetime: Duration,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Which of several guards writes")]
pub(crate) struct GuardElectionArgs {
    /// The pod that the guard runs in: a container that is restarted goes on writing
    #[arg(long, value_name = "UID", env = "POD_UID")]
    pub(crate) pod_uid: Option<String>,

    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Invalid {
    /// They may not run, which is said and holds nothing up
    Allow,
    /// They count as operators that will not run, as they do for OLM
    Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Missing {
    /// They count as operators that run
    Allow,
    /// They may not run, which is said and holds nothing up
    Warn,
    /// They count as operators that will not run
    Block,
}

/// API servers ask webhooks by TLS alone, and the guard answers them at one place.
fn webhook_url(text: &str) -> Result<Url, String> {
    let mut url: Url = text.parse().map_err(|error| format!("{error}"))?;
    if url.scheme() != "https" || url.host().is_none() {
        let example = "https://127.0.0.1:9443/validate";
        return Err(format!("API servers ask webhooks by https, such as {example}"));
    }
    if !url.username().is_empty() || url.query().is_some() || url.fragment().is_some() {
        return Err("API servers take no user, query or fragment in it".to_owned());
    }
    if url.path() == "/" {
        url.set_path("/validate");
    }
    match url.path() {
        "/validate" => Ok(url),
        other => Err(format!("the guard answers at /validate, and not at {other}")),
    }
}

/// A certificate has to last longer than API servers need to learn of the next one, many times over.
fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = duration(text)?;
    if lifetime < SHORTEST_LIFETIME {
        return Err("too short: an hour is the least".to_owned());
    }
    Ok(lifetime)
}

/// Clocks may differ by minutes, and a renewal that fails needs time to be noticed.
const SHORTEST_LIFETIME: Duration = Duration::from_hours(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_where_the_guard_answers() {
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
        API servers ask webhooks by https, such as https://127.0.0.1:9443/validate
        the guard answers at /validate, and not at /webhook
        API servers take no user, query or fragment in it
        API servers take no user, query or fragment in it
        relative URL without a base
        ");
    }

    #[test]
    fn a_certificate_lasts_for_a_while() {
        assert_eq!(lifetime("24h"), Ok(Duration::from_hours(24)));
        assert_eq!(lifetime("59m").unwrap_err(), "too short: an hour is the least");
    }
}
