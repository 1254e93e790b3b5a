//! Arguments that are completed with data of the cluster.

use std::ffi::OsString;
use std::sync::Arc;

use clap::Command;
use clap_complete::ArgValueCandidates;

use super::cluster::CompletionCluster;
use super::values;

/// The data for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Versions that the cluster may update to.
    Versions,
    /// Images of these versions.
    Images,
    /// Channels of the running release.
    Channels,
    /// Risks of updates, and accepted ones with a trailing hyphen.
    Risks,
    /// Issues of updates: risks and other names that can be accepted.
    Issues,
    /// Versions and risks.
    Subjects,
}

/// Each argument by its command.
const ARGUMENTS: &[(&[&str], &str, Values)] = &[
    (&["upgrade"], "to", Values::Versions),
    (&["upgrade"], "to_image", Values::Images),
    (&["upgrade", "accept"], "risks", Values::Risks),
    (&["upgrade", "channel"], "channel", Values::Channels),
    (&["upgrade", "compare"], "releases", Values::Versions),
    (&["upgrade", "explain"], "subject", Values::Subjects),
    (&["upgrade", "plan"], "channels", Values::Channels),
    (&["upgrade", "plan"], "to", Values::Versions),
    (&["upgrade", "recommend"], "accept", Values::Issues),
    (&["upgrade", "recommend"], "version", Values::Versions),
];

/// Arguments of all commands that name contexts of the kubeconfig.
const CONTEXTS: [&str; 2] = ["context", "contexts"];

/// Adds completers to a command. The typed words select the cluster.
pub(super) fn completed(command: Command, words: &[OsString]) -> Command {
    with(command, &[], &Arc::new(CompletionCluster::new(words)))
}

fn with(command: Command, path: &[&str], cluster: &Arc<CompletionCluster>) -> Command {
    let command = command.mut_args(|argument| {
        let id = argument.get_id().as_str();
        let cluster = Arc::clone(cluster);
        if CONTEXTS.contains(&id) {
            return argument.add(ArgValueCandidates::new(move || cluster.contexts()));
        }
        let known = ARGUMENTS.iter().find(|(of, name, _)| *of == path && *name == id);
        match known {
            Some((.., live)) => {
                let live = *live;
                argument.add(ArgValueCandidates::new(move || candidates(live, &cluster)))
            }
            None => argument,
        }
    });
    command.mut_subcommands(|subcommand| {
        let name = subcommand.get_name().to_owned();
        with(subcommand, &[path, &[&name]].concat(), cluster)
    })
}

fn candidates(
    values: Values,
    cluster: &CompletionCluster,
) -> Vec<clap_complete::CompletionCandidate> {
    let Some(version) = cluster.cluster_version() else { return Vec::new() };
    match values {
        Values::Versions => values::versions(version),
        Values::Images => values::images(version),
        Values::Channels => values::channels(version),
        Values::Risks => values::risks(version),
        Values::Issues => values::issues(version),
        Values::Subjects => values::subjects(version),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Args;

    #[test]
    fn all_completed_arguments_exist() {
        for (path, name, live) in ARGUMENTS {
            let mut command = &Args::command();
            for step in *path {
                command = command.find_subcommand(step).unwrap();
            }
            let found = command.get_arguments().any(|argument| argument.get_id() == name);
            assert!(found, "{path:?} has no {name}, which is to be completed with {live:?}");
        }
    }
}
