//! The cluster of a command line, for completion.

use std::ffi::OsString;
use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Args as _, Command, FromArgMatches as _};
use clap_complete::CompletionCandidate;
use fairway_api::ClusterVersion;
use kube::config::Kubeconfig;

use super::values;
use crate::args::cluster::ClusterArgs;
use crate::cluster::{Cluster, block_on};

/// With the start of the binary, completion takes at most a second. `--request-timeout` overrides it.
const DEFAULT_TIMEOUT: Duration = Duration::from_millis(900);

/// The ClusterVersion of a command line, read on first use.
pub(super) struct CompletionCluster {
    words: Vec<OsString>,
    cluster_version: OnceLock<Option<ClusterVersion>>,
}

impl CompletionCluster {
    pub(super) fn new(words: &[OsString]) -> Self {
        Self { words: words.to_owned(), cluster_version: OnceLock::new() }
    }

    /// The ClusterVersion. `None` on errors and after the timeout.
    pub(super) fn cluster_version(&self) -> Option<&ClusterVersion> {
        self.cluster_version.get_or_init(|| read(selected(&self.words)?)).as_ref()
    }

    /// The contexts of the kubeconfig.
    pub(super) fn contexts(&self) -> Vec<CompletionCandidate> {
        let path = selected(&self.words).and_then(|selected| selected.args.kubeconfig);
        let read = path.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
        read.map(|config| values::contexts(&config)).unwrap_or_default()
    }
}

/// Reads on another thread: a credential plugin may block, and completion does not wait for it.
fn read(SelectedCluster { args, timeout }: SelectedCluster) -> Option<ClusterVersion> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let read = block_on(async { Cluster::connect(&args).await?.cluster_version().await });
        // An error means that the timeout has passed.
        let _ = sender.send(read.ok());
    });
    receiver.recv_timeout(timeout).ok().flatten()
}

/// Cluster arguments and timeout.
struct SelectedCluster {
    args: ClusterArgs,
    timeout: Duration,
}

/// The cluster arguments among words. The other words may be invalid or incomplete.
fn selected(words: &[OsString]) -> Option<SelectedCluster> {
    let command = ClusterArgs::augment_args(Command::new("fairway").no_binary_name(true));
    let options: Vec<String> = command
        .get_arguments()
        .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
        .collect();
    let mut options_of_cluster = Vec::new();
    // The last word is not complete.
    let mut words = words.split_last().map_or(&[][..], |(_, before)| before).iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let (name, value) = text.split_once('=').map_or((&*text, None), |(n, v)| (n, Some(v)));
        if options.iter().any(|option| option == name) {
            options_of_cluster.push(word.clone());
            if value.is_none() {
                options_of_cluster.extend(words.next().cloned());
            }
        }
    }
    let matches = command.try_get_matches_from(options_of_cluster).ok()?;
    let args = ClusterArgs::from_arg_matches(&matches).ok()?;
    let is_given = matches.value_source("request_timeout") == Some(ValueSource::CommandLine);
    let timeout = if is_given { args.request_timeout } else { DEFAULT_TIMEOUT };
    Some(SelectedCluster { args, timeout })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_cluster_is_that_of_complete_words() {
        let parse = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let SelectedCluster { args, timeout } = selected(&words).unwrap();
            assert_eq!(timeout, DEFAULT_TIMEOUT);
            (args.kubeconfig.map(|path| path.display().to_string()), args.context)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(parse("upgrade --to "), (None, None));
        assert_eq!(parse("upgrade --context=a --kubeconfig k --to "), (some("k"), some("a")));
        assert_eq!(parse("upgrade --context a --context"), (None, some("a")));
        assert_eq!(parse("upgrade --nonsense --to=1 --context b --to "), (None, some("b")));
    }
}
