//! What can be typed after `fairway fleet`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Subcommand, ValueHint};
use fairway_api::Version;
use fairway_insight::Word;
use jiff::Timestamp;

use super::cluster::ClusterArgs;
use super::duration::some_time;
use super::report::ReportArgs;
use super::source::time;
use super::upgrade::version;
use super::upgrade_preflight::PATIENCE_TEXT;

#[derive(clap::Args)]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Subcommand)]
pub(crate) enum FleetCommand {
    /// Tell where each cluster may update to, and what stands in the way of several
    ///
    /// Each cluster and version has a verdict: recommended, not recommended with the risks that are
    /// not accepted, not offered, unknown, or already there; beside it, what blocks any update of
    /// the cluster, and what a preflight of that release has found. Risks that clusters have in
    /// common are told once. Without `--to`, it is the best update of each minor version. Nothing
    /// is changed, and alerts are not looked at: `fairway upgrade recommend` does that.
    ///
    /// A cluster that cannot be reached is a row like any other. The exit code is 0 when all
    /// clusters may, 3 when one may not, 4 when that cannot be told of one, and 1 when none
    /// could be read.
    #[command(after_help = "\
Examples:
  fairway fleet report --all-contexts
  fairway fleet report --contexts=prod-eu,prod-us --to=5.1.4,5.2.0
  fairway fleet report --dir=recorded --to=5.2.0
  fairway fleet report --all-contexts --to=5.2.0 -o json |
    jq -r '.clusters[] | select(.readiness == \"blocked\") | .name'")]
    Report(FleetReportArgs),

    /// Ask a release what it says about each cluster, before any of them is updated
    ///
    /// Each cluster is asked as by `fairway upgrade --mode=preflight`: nothing is changed in it, and
    /// an update on its way goes on. What comes of one cluster stops no other. With `--wait`, the
    /// results are waited for; else `fairway fleet report` shows them later.
    ///
    /// The exit code is 3 when something was found that is not accepted, 4 when that cannot be told
    /// of a cluster, 5 when one was waited for in vain, and 1 when none could be asked.
    #[command(after_help = "\
Examples:
  fairway fleet preflight --all-contexts --to=5.2.0
  fairway fleet preflight --contexts=prod-eu,prod-us --to=5.2.0 --wait=1h --parallel=2
  fairway fleet report --all-contexts --to=5.2.0")]
    Preflight(FleetPreflightArgs),
}

#[derive(clap::Args)]
pub(crate) struct FleetReportArgs {
    /// The versions that are asked about, separated by commas; may be given several times
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    to: Vec<Version>,

    /// A directory of recorded clusters: each is an `X-cv.yaml` with files beside it, or a directory
    #[arg(
        long,
        value_name = "DIR",
        value_hint = ValueHint::DirPath,
        group = CLUSTERS,
        conflicts_with = "kubeconfig",
        help_heading = "The clusters"
    )]
    pub(crate) dir: Option<PathBuf>,

    /// The time to tell ages for, such as 2026-12-31T12:00:00Z; without it, that of the last
    /// change in the files of each
    #[arg(long, value_name = "TIME", value_parser = time, requires = "dir", help_heading = "The clusters")]
    pub(crate) at: Option<Timestamp>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) members: MembersArgs,
}

impl FleetReportArgs {
    /// The versions that are asked about, each once.
    pub(crate) fn targets(&self) -> Vec<Version> {
        once(self.to.iter().cloned()).collect()
    }
}

#[derive(clap::Args)]
pub(crate) struct FleetPreflightArgs {
    /// The version of the release that is asked
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub(crate) to: String,

    /// Wait until all checks have answered, in each cluster for at most 30m or that time
    #[arg(
        long,
        value_name = "DURATION",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = PATIENCE_TEXT,
        value_parser = some_time,
        conflicts_with = "no_wait"
    )]
    pub(crate) wait: Option<Duration>,

    /// Do not wait for the operators' answers
    #[arg(long)]
    pub(crate) no_wait: bool,

    /// How long to wait until the operator of a cluster has seen the request
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time, conflicts_with = "no_wait")]
    pub(crate) timeout: Duration,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) members: MembersArgs,
}

/// What names the clusters of a fleet.
const CLUSTERS: &str = "clusters";

#[derive(clap::Args)]
#[command(
    next_help_heading = "The clusters",
    group(ArgGroup::new(CLUSTERS).required(true)),
    mut_arg("context", |arg| arg.hide(true).conflicts_with(CLUSTERS))
)]
pub(crate) struct MembersArgs {
    /// These contexts of the kubeconfig, separated by commas; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',', group = CLUSTERS)]
    contexts: Vec<String>,

    /// Every context of the kubeconfig
    #[arg(long, group = CLUSTERS)]
    pub(crate) all_contexts: bool,

    /// How many clusters are asked at once
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) parallel: u8,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

impl MembersArgs {
    /// The contexts that are named, each once.
    pub(crate) fn contexts(&self) -> impl Iterator<Item = &str> {
        let named = self.contexts.iter().map(|name| name.trim());
        once(named.filter(|name| !name.is_empty()))
    }

    /// What is typed to name the same clusters.
    pub(crate) fn selection(&self) -> String {
        if self.all_contexts {
            return "--all-contexts".to_owned();
        }
        format!("--contexts={}", Word(&self.contexts().collect::<Vec<_>>().join(",")))
    }
}

/// The first of all that are the same, in their order.
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
    fn contexts_are_one_word_for_a_shell() {
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
