//! The clusters that a kubeconfig names.

use anyhow::Context as _;
use kube::config::Kubeconfig;

use super::advice::no_access;
use crate::args::cluster::ClusterArgs;
use crate::errors::WithHint;

/// The names of all contexts, in the order of the kubeconfig.
pub(crate) fn names(args: &ClusterArgs) -> anyhow::Result<Vec<String>> {
    let read = match &args.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = read.map_err(|error| no_access(&error))?;
    let names: Vec<String> = kubeconfig.contexts.into_iter().map(|context| context.name).collect();
    Some(names).filter(|names| !names.is_empty()).with_context(|| WithHint {
        message: "the kubeconfig has no contexts".to_owned(),
        hint: "set another kubeconfig with --kubeconfig or KUBECONFIG".to_owned(),
    })
}
