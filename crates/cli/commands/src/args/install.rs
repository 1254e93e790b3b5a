//! What can be typed after `fairway install`.

use std::time::Duration;

use url::Url;

use super::cluster::ClusterArgs;
use super::duration::some_time;
use super::operator::web_url;
use super::registry::AccessArgs;
use super::report::ReportArgs;

#[derive(clap::Args)]
pub(crate) struct InstallArgs {
    /// The release: registry.example/releases@sha256:…, or oci:DIR:NAME in an OCI image layout
    ///
    /// A name that can move to another image is looked up once; the cluster gets that very image.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) release_image: String,

    /// How the cluster pulls the image, where that is not how it is read here
    #[arg(long, value_name = "REPOSITORY")]
    pub(crate) pull_from: Option<String>,

    /// The channel that updates come from
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,

    /// The update service to ask
    #[arg(long, value_name = "URL", value_parser = web_url)]
    pub(crate) upstream: Option<Url>,

    /// Where signatures of later releases are; can be repeated. Without it, where the release says
    #[arg(long = "signature-store", value_name = "URL", value_parser = web_url)]
    pub(crate) signature_stores: Vec<Url>,

    /// The identity of the cluster, a version 4 UUID; without it, that of namespace kube-system
    #[arg(long, value_name = "UUID")]
    pub(crate) cluster_id: Option<String>,

    /// Return as soon as the operator is asked to run, and do not wait for the platform
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// How long to wait for the platform
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = some_time, conflicts_with = "no_wait")]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}
