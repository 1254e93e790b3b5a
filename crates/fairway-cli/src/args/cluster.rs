//! How to reach the cluster that a command is about.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;

use super::duration::some_time;

#[derive(clap::Args)]
#[command(next_help_heading = "The cluster")]
pub(crate) struct ClusterArgs {
    /// The kubeconfig; without it `$KUBECONFIG`, `~/.kube/config`, or in a pod its ServiceAccount
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// How long to wait for each answer of the API server
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time)]
    pub(crate) request_timeout: Duration,
}
