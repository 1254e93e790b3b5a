//! Arguments that select a cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;

use super::duration::some_time;

#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// Kubeconfig; default: `$KUBECONFIG`, `~/.kube/config`, or the ServiceAccount of the pod
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig; default: the current context
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// User to impersonate, such as system:serviceaccount:NAMESPACE:NAME; requires the RBAC verb
    /// `impersonate`
    #[arg(long = "as", value_name = "USER", value_parser = named)]
    pub(crate) act_as: Option<String>,

    /// Group to impersonate; repeatable
    #[arg(long = "as-group", value_name = "GROUP", value_parser = named, requires = "act_as")]
    pub(crate) act_as_groups: Vec<String>,

    /// Timeout of each request to the API server
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time)]
    pub(crate) request_timeout: Duration,
}

/// A name that fits into a header. An empty name is usually an unset variable of a script, and
/// would run the command without impersonation.
fn named(text: &str) -> Result<String, String> {
    match text {
        "" => Err("name is empty".to_owned()),
        _ if text.contains(char::is_control) => Err("name contains control characters".to_owned()),
        _ => Ok(text.to_owned()),
    }
}
