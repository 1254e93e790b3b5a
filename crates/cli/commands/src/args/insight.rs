//! What can be typed after `fairway upgrade status` and `fairway upgrade recommend`.

use std::time::Duration;

use clap::ValueEnum;
use fairway_api::Version;

use super::duration::some_time;
use super::report::ReportArgs;
use super::source::SourceArgs;

#[derive(clap::Args)]
pub(crate) struct StatusArgs {
    /// What to show in full; the document of `-o json` always has everything
    #[arg(long, value_name = "WHAT", default_value = "none")]
    pub(crate) details: Details,

    /// Show it again whenever something has changed, until the update is over
    ///
    /// With `-o json`, each is one document.
    #[arg(long, conflicts_with = "from_file")]
    pub(crate) watch: bool,

    /// How long to watch at most; without it, until the update is over
    #[arg(long, value_name = "DURATION", value_parser = some_time, requires = "watch")]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// What is shown in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Details {
    /// What fits on a screen
    None,
    /// Everything
    All,
    /// Every node
    Nodes,
    /// What is wrong, at length, and where to read about it
    Health,
    /// What each operator says
    Operators,
}

impl Details {
    /// Whether that is shown in full.
    pub(crate) fn has(self, part: Self) -> bool {
        self == Self::All || self == part
    }
}

#[derive(clap::Args)]
pub(crate) struct RecommendArgs {
    /// Only this version, and whether something speaks against updating to it
    ///
    /// The exit code is the answer; with --quiet, nothing is said but what keeps it from being yes.
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<Version>,

    /// Every update, not only the latest two of each minor version
    #[arg(long, conflicts_with = "version")]
    pub(crate) show_outdated_releases: bool,

    /// Names of issues that do not count, separated by commas; may be given several times
    ///
    /// Nothing is written to the cluster: `fairway upgrade accept` does that.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) accept: Vec<String>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}
