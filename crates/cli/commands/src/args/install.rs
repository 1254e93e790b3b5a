//! Arguments of `fairway install`.

use std::time::Duration;

use url::Url;

use super::cluster::ClusterArgs;
use super::duration::some_time;
use super::operator::web_url;
use super::registry::AccessArgs;
use super::report::ReportArgs;

#[derive(clap::Args)]
pub(crate) struct InstallArgs {
    /// Release: registry.example/releases@sha256:…, or oci:DIR:NAME in an OCI image layout
    ///
    /// The command resolves a tag once; the cluster uses the resulting digest.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) release_image: String,

    /// Repository from which the cluster pulls the image; default: that of `--release-image`
    #[arg(long, value_name = "REPOSITORY")]
    pub(crate) pull_from: Option<String>,

    /// Channel of the cluster
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,

    /// Update service of the cluster
    #[arg(long, value_name = "URL", value_parser = web_url)]
    pub(crate) upstream: Option<Url>,

    /// Signature store for later releases; repeatable; default: the stores of the release
    #[arg(long = "signature-store", value_name = "URL", value_parser = web_url)]
    pub(crate) signature_stores: Vec<Url>,

    /// Cluster ID, a version 4 UUID; default: the UID of namespace kube-system
    #[arg(long, value_name = "UUID")]
    pub(crate) cluster_id: Option<String>,

    /// Return once the operator is deployed, and do not wait for the platform
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// Timeout for the platform
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = some_time, conflicts_with = "no_wait")]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
