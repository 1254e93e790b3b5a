//! Arguments of `fairway upgrade status` and `fairway upgrade recommend`.

use std::time::Duration;

use clap::ValueEnum;
use fairway_api::Version;

use super::duration::some_time;
use super::report::ReportArgs;
use super::source::SourceArgs;

#[derive(clap::Args)]
pub(crate) struct StatusArgs {
    /// Details to show in full; JSON and YAML always contain all details
    #[arg(long, value_name = "WHAT", default_value = "none")]
    pub(crate) details: Details,

    /// Print the status on every change until the update is complete
    ///
    /// With `-o json`, each status is one document.
    #[arg(long, conflicts_with = "from_file")]
    pub(crate) watch: bool,

    /// Timeout of `--watch`; default: none
    #[arg(long, value_name = "DURATION", value_parser = some_time, requires = "watch")]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Details that are shown in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Details {
    /// A summary that fits on a screen
    None,
    /// All details
    All,
    /// All nodes
    Nodes,
    /// Health issues with descriptions and links
    Health,
    /// Conditions of all operators
    Operators,
}

impl Details {
    /// Whether `part` is shown in full.
    pub(crate) fn has(self, part: Self) -> bool {
        self == Self::All || self == part
    }
}

#[derive(clap::Args)]
pub(crate) struct RecommendArgs {
    /// Show only this version and its issues
    ///
    /// The exit code is the result. With --quiet, the command prints only the issues.
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<Version>,

    /// Show all updates, not only the latest two of each minor version
    #[arg(long, conflicts_with = "version")]
    pub(crate) show_outdated_releases: bool,

    /// Names of issues to ignore, separated by commas; repeatable
    ///
    /// This affects only this command. To accept a risk in the cluster, run `fairway upgrade
    /// accept`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) accept: Vec<String>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}
