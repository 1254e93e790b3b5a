//! The cluster that the words name, asked in the time that somebody waits for an answer.

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

/// With what the program itself takes, it is a second. Whoever waits for longer says so by
/// `--request-timeout`.
const PATIENCE: Duration = Duration::from_millis(900);

/// What the cluster says, asked at most once and only if it matters.
pub(super) struct Asked {
    words: Vec<OsString>,
    answer: OnceLock<Option<ClusterVersion>>,
}

impl Asked {
    pub(super) fn by(words: &[OsString]) -> Self {
        Self { words: words.to_owned(), answer: OnceLock::new() }
    }

    /// The cluster's version; none where nobody answers in time, whatever the reason.
    pub(super) fn cluster_version(&self) -> Option<&ClusterVersion> {
        self.answer.get_or_init(|| ask(named(&self.words)?)).as_ref()
    }

    /// The contexts of the kubeconfig.
    pub(super) fn contexts(&self) -> Vec<CompletionCandidate> {
        let path = named(&self.words).and_then(|named| named.args.kubeconfig);
        let read = path.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
        read.map(|config| values::contexts(&config)).unwrap_or_default()
    }
}

/// Asks on a thread of its own: what gets credentials may block, and is left alone then.
fn ask(Named { args, patience }: Named) -> Option<ClusterVersion> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let asked = block_on(async { Cluster::connect(&args).await?.cluster_version().await });
        // Nobody waits any more.
        let _ = tell.send(asked.ok());
    });
    told.recv_timeout(patience).ok().flatten()
}

/// A cluster, and how long to wait for it.
struct Named {
    args: ClusterArgs,
    patience: Duration,
}

/// What the words say about the cluster. The rest of them may make no sense yet.
fn named(words: &[OsString]) -> Option<Named> {
    let command = ClusterArgs::augment_args(Command::new("fairway").no_binary_name(true));
    let options: Vec<String> = command
        .get_arguments()
        .filter_map(|argument| Some(format!("--{}", argument.get_long()?)))
        .collect();
    let mut about = Vec::new();
    // The last word is not complete.
    let mut words = words.split_last().map_or(&[][..], |(_, before)| before).iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let (name, value) = text.split_once('=').map_or((&*text, None), |(n, v)| (n, Some(v)));
        if options.iter().any(|option| option == name) {
            about.push(word.clone());
            if value.is_none() {
                about.extend(words.next().cloned());
            }
        }
    }
    let matches = command.try_get_matches_from(about).ok()?;
    let args = ClusterArgs::from_arg_matches(&matches).ok()?;
    let is_said = matches.value_source("request_timeout") == Some(ValueSource::CommandLine);
    let patience = if is_said { args.request_timeout } else { PATIENCE };
    Some(Named { args, patience })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_is_the_one_that_is_named_already() {
        let named = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let Named { args, patience } = named(&words).unwrap();
            assert_eq!(patience, PATIENCE);
            (args.kubeconfig.map(|path| path.display().to_string()), args.context)
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(named("upgrade --to "), (None, None));
        assert_eq!(named("upgrade --context=a --kubeconfig k --to "), (some("k"), some("a")));
        assert_eq!(named("upgrade --context a --context"), (None, some("a")));
        assert_eq!(named("upgrade --nonsense --to=1 --context b --to "), (None, some("b")));
    }
}
