//! How to reach the cluster that a command is about.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;

use super::duration::some_time;

#[derive(Clone, clap::Args)]
#[command(next_help_heading = "The cluster")]
pub(crate) struct ClusterArgs {
    /// The kubeconfig; without it `$KUBECONFIG`, `~/.kube/config`, or in a pod its ServiceAccount
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Act as this user, such as system:serviceaccount:NAMESPACE:NAME; that needs a permission
    #[arg(long = "as", value_name = "USER", value_parser = named)]
    pub(crate) act_as: Option<String>,

    /// Act as a member of this group; may be given several times
    #[arg(long = "as-group", value_name = "GROUP", value_parser = named, requires = "act_as")]
    pub(crate) act_as_groups: Vec<String>,

    /// How long to wait for each answer of the API server
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time)]
    pub(crate) request_timeout: Duration,
}

/// A name that fits into a header. An empty one is mostly a variable of a script that is not set, and
/// would be everything that whoever runs the script may do.
fn named(text: &str) -> Result<String, String> {
    match text {
        "" => Err("the name is empty".to_owned()),
        _ if text.contains(char::is_control) => Err("a name is one line of text".to_owned()),
        _ => Ok(text.to_owned()),
    }
}
