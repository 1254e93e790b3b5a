//! Arguments of `fairway fleet`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Subcommand, ValueHint};
use fairway_api::Version;
use fairway_insight::ShellWord;
use jiff::Timestamp;

use super::cluster::ClusterArgs;
use super::duration::some_time;
use super::report::ReportArgs;
use super::source::time;
use super::upgrade::version;
use super::upgrade_preflight::DEFAULT_PREFLIGHT_TIMEOUT;

#[derive(clap::Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Subcommand)]
pub(crate) enum FleetCommand {
    /// Report the updates and blockers of several clusters
    ///
    /// The report shows a verdict for each cluster and version: recommended, not recommended with
    /// the unaccepted risks, not available, unknown, or already installed. The report also shows
    /// blockers of the cluster and the findings of preflights. It lists each risk once, with its
    /// clusters. Without `--to`, it shows one update of each minor version: the latest recommended
    /// one, or else the latest. The command changes nothing and does not evaluate alerts; for
    /// alerts, run `fairway upgrade recommend`.
    ///
    /// The report also has a row for each unreachable cluster. The exit code is 0 if all clusters
    /// can update, 3 if a cluster cannot, 4 if that is unknown for a cluster, and 1 if no cluster
    /// can be read.
    #[command(after_help = "\
Examples:
  fairway fleet report --all-contexts
  fairway fleet report --contexts=prod-eu,prod-us --to=5.1.4,5.2.0
  fairway fleet report --dir=recorded --to=5.2.0
  fairway fleet report --all-contexts --to=5.2.0 -o json |
    jq -r '.clusters[] | select(.readiness == \"blocked\") | .name'")]
    Report(FleetReportArgs),

    /// Run preflights of a release in several clusters
    ///
    /// In each cluster, the command requests the same preflight as `fairway upgrade
    /// --mode=preflight`: it applies no manifests of the release, and an update in progress
    /// continues. A failure in one cluster does not affect others. With `--wait`, the command waits
    /// for the results; otherwise, `fairway fleet report` shows them later.
    ///
    /// The exit code is 3 if a cluster has unaccepted findings, 4 if that is unknown for a cluster,
    /// 5 on a timeout, and 1 if no cluster can be reached.
    #[command(after_help = "\
Examples:
  fairway fleet preflight --all-contexts --to=5.2.0
  fairway fleet preflight --contexts=prod-eu,prod-us --to=5.2.0 --wait=1h --parallel=2
  fairway fleet report --all-contexts --to=5.2.0")]
    Preflight(FleetPreflightArgs),
}

#[derive(clap::Args)]
pub(crate) struct FleetReportArgs {
    /// Versions to report on, separated by commas; repeatable
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    to: Vec<Version>,

    /// Directory of recorded clusters: each is a file `X-cv.yaml` with the other files of the
    /// prefix `X-`, or a subdirectory
    #[arg(
        long,
        value_name = "DIR",
        value_hint = ValueHint::DirPath,
        group = CLUSTERS,
        conflicts_with = "kubeconfig",
        help_heading = "Clusters"
    )]
    pub(crate) dir: Option<PathBuf>,

    /// Time to use as the current time for recorded clusters, such as 2026-12-31T12:00:00Z;
    /// default: the last change in the files of each cluster
    #[arg(long, value_name = "TIME", value_parser = time, requires = "dir", help_heading = "Clusters")]
    pub(crate) at: Option<Timestamp>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) members: MembersArgs,
}

impl FleetReportArgs {
    /// The versions of `--to`, without duplicates.
    pub(crate) fn targets(&self) -> Vec<Version> {
        once(self.to.iter().cloned()).collect()
    }
}

#[derive(clap::Args)]
pub(crate) struct FleetPreflightArgs {
    /// Version of the target release
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub(crate) to: String,

    /// Wait until all checks have results, with a timeout for each cluster; default: 30m
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_PREFLIGHT_TIMEOUT,
        value_parser = some_time,
        conflicts_with = "no_wait"
    )]
    pub(crate) wait: Option<Duration>,

    /// Do not wait for the decisions of the operators
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// Timeout for the operator of each cluster to observe the request
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time, conflicts_with = "no_wait")]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) members: MembersArgs,
}

/// Argument group of the options that select clusters.
const CLUSTERS: &str = "clusters";

#[derive(clap::Args)]
#[command(
    next_help_heading = "Clusters",
    group(ArgGroup::new(CLUSTERS).required(true)),
    mut_arg("context", |arg| arg.hide(true).conflicts_with(CLUSTERS))
)]
pub(crate) struct MembersArgs {
    /// Contexts of the kubeconfig, separated by commas; repeatable
    #[arg(long, value_name = "NAME", value_delimiter = ',', group = CLUSTERS)]
    contexts: Vec<String>,

    /// All contexts of the kubeconfig
    #[arg(long, group = CLUSTERS)]
    pub(crate) all_contexts: bool,

    /// Number of clusters to process in parallel
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) parallel: u8,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

impl MembersArgs {
    /// The contexts of `--contexts`, without duplicates.
    pub(crate) fn contexts(&self) -> impl Iterator<Item = &str> {
        let named = self.contexts.iter().map(|name| name.trim());
        once(named.filter(|name| !name.is_empty()))
    }

    /// Option that selects the same clusters.
    pub(crate) fn selection(&self) -> String {
        if self.all_contexts {
            return "--all-contexts".to_owned();
        }
        format!("--contexts={}", ShellWord(&self.contexts().collect::<Vec<_>>().join(",")))
    }
}

/// Removes duplicates, in order.
fn once<T: Clone + PartialEq>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let mut seen: Vec<T> = Vec::new();
    all.into_iter().filter(move |one| {
        let is_new = !seen.contains(one);
        seen.extend(is_new.then(|| one.clone()));
        is_new
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        members: MembersArgs,
    }

    #[test]
    fn contexts_are_printed_as_one_shell_word() {
        for (typed, selection) in [
            ("--all-contexts", "--all-contexts"),
            ("--contexts=a, b,a", "--contexts=a,b"),
            ("--contexts=kind;id,lab", "--contexts='kind;id,lab'"),
        ] {
            let typed = Typed::try_parse_from(["fleet", typed]).unwrap();
            assert_eq!(typed.members.selection(), selection);
        }
    }
}
