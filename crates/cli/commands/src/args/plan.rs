//! What can be typed after `fairway upgrade plan`.

use std::path::PathBuf;

use clap::ValueHint;
use fairway_insight::plan::Goal;
use url::Url;

use super::report::ReportArgs;
use super::source::SourceArgs;

#[derive(clap::Args)]
pub(crate) struct PlanArgs {
    /// Where to: a version, a minor version, a channel, or `latest`
    ///
    /// Of a minor version or a channel, it is the latest release that is reached without a risk that
    /// nobody has accepted. `latest` is the channel that the cluster follows.
    #[arg(long, value_name = "GOAL")]
    pub(crate) to: Goal,

    /// Use this channel as well, and others of its kind; may be given several times
    #[arg(long = "channel", value_name = "CHANNEL")]
    pub(crate) channels: Vec<String>,

    #[command(flatten)]
    pub(crate) graph: GraphChoiceArgs,

    /// Ask this file with samples, in the form of Prometheus, what the operator does not know yet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) metrics: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Where it is known from which updates there are.
#[derive(clap::Args)]
#[command(next_help_heading = "The update graph")]
pub(crate) struct GraphChoiceArgs {
    /// The updates that there are: a file with a graph, an update service, or a directory with
    /// graph-data; without it, the update service of the cluster
    #[arg(long, value_name = "FILE|URL|DIR", value_hint = ValueHint::AnyPath, value_parser = place)]
    pub(crate) graph: Option<GraphPlace>,

    /// With a directory of graph-data, what releases say about themselves: a JSON list with
    /// `image`, `arch` and `release-metadata` of each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "graph")]
    pub(crate) releases: Option<PathBuf>,

    /// The architecture of the cluster; without it, that of its API server
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<String>,
}

/// Where a graph is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GraphPlace {
    /// An update service.
    Service(Url),
    /// A file or a directory.
    Path(PathBuf),
}

fn place(text: &str) -> Result<GraphPlace, String> {
    if !text.starts_with("http://") && !text.starts_with("https://") {
        return Ok(GraphPlace::Path(text.into()));
    }
    Url::parse(text).map(GraphPlace::Service).map_err(|error| error.to_string())
}
