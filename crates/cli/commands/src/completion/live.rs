//! Which arguments are completed with what the cluster has.

use std::ffi::OsString;
use std::sync::Arc;

use clap::Command;
use clap_complete::ArgValueCandidates;

use super::ask::Asked;
use super::values;

/// What an argument is completed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Live {
    /// Versions that the cluster may update to.
    Versions,
    /// Their images.
    Images,
    /// Channels that its release is in.
    Channels,
    /// Risks of updates; with a hyphen at the end, those that are accepted.
    Risks,
    /// What may speak against an update: risks, and what else is accepted by name.
    Issues,
    /// What can be explained: versions and risks.
    Subjects,
}

/// Each argument by its command.
const ARGUMENTS: &[(&[&str], &str, Live)] = &[
    (&["upgrade"], "to", Live::Versions),
    (&["upgrade"], "to_image", Live::Images),
    (&["upgrade", "accept"], "risks", Live::Risks),
    (&["upgrade", "channel"], "channel", Live::Channels),
    (&["upgrade", "compare"], "releases", Live::Versions),
    (&["upgrade", "explain"], "subject", Live::Subjects),
    (&["upgrade", "plan"], "channels", Live::Channels),
    (&["upgrade", "plan"], "to", Live::Versions),
    (&["upgrade", "recommend"], "accept", Live::Issues),
    (&["upgrade", "recommend"], "version", Live::Versions),
];

/// The arguments that name clusters of the kubeconfig, of every command about them.
const CONTEXTS: [&str; 2] = ["context", "contexts"];

/// The command with arguments that are completed with what the cluster has, which the words that
/// are typed already name.
pub(super) fn completed(command: Command, words: &[OsString]) -> Command {
    with(command, &[], &Arc::new(Asked::by(words)))
}

fn with(command: Command, path: &[&str], asked: &Arc<Asked>) -> Command {
    let command = command.mut_args(|argument| {
        let id = argument.get_id().as_str();
        let asked = Arc::clone(asked);
        if CONTEXTS.contains(&id) {
            return argument.add(ArgValueCandidates::new(move || asked.contexts()));
        }
        let known = ARGUMENTS.iter().find(|(of, name, _)| *of == path && *name == id);
        match known {
            Some((.., live)) => {
                let live = *live;
                argument.add(ArgValueCandidates::new(move || candidates(live, &asked)))
            }
            None => argument,
        }
    });
    command.mut_subcommands(|subcommand| {
        let name = subcommand.get_name().to_owned();
        with(subcommand, &[path, &[&name]].concat(), asked)
    })
}

fn candidates(live: Live, asked: &Asked) -> Vec<clap_complete::CompletionCandidate> {
    let Some(version) = asked.cluster_version() else { return Vec::new() };
    match live {
        Live::Versions => values::versions(version),
        Live::Images => values::images(version),
        Live::Channels => values::channels(version),
        Live::Risks => values::risks(version),
        Live::Issues => values::issues(version),
        Live::Subjects => values::subjects(version),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Args;

    #[test]
    fn every_argument_is_there() {
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
