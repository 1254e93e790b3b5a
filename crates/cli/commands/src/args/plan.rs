//! Arguments of `fairway upgrade plan`.

use std::path::PathBuf;

use clap::ValueHint;
use fairway_insight::plan::Goal;
use url::Url;

use super::report::ReportArgs;
use super::source::SourceArgs;

#[derive(clap::Args)]
pub(crate) struct PlanArgs {
    /// Goal: a version, a minor version, a channel, or `latest`
    ///
    /// For a minor version or a channel, the goal is the latest release that is reachable without
    /// unaccepted risks. `latest` means the channel of the cluster.
    #[arg(long, value_name = "GOAL")]
    pub(crate) to: Goal,

    /// Additional channel, and the channels of other minor versions with the same prefix;
    /// repeatable
    #[arg(long = "channel", value_name = "CHANNEL")]
    pub(crate) channels: Vec<String>,

    #[command(flatten)]
    pub(crate) graph: GraphChoiceArgs,

    /// Metrics snapshot in Prometheus text format, for risks that the operator has not evaluated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) metrics: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Source of the update graph.
#[derive(clap::Args)]
#[command(next_help_heading = "Update graph")]
pub(crate) struct GraphChoiceArgs {
    /// Source of the update graph: a file, an update service, or a graph-data directory; default:
    /// the update service of the cluster
    #[arg(long, value_name = "FILE|URL|DIR", value_hint = ValueHint::AnyPath, value_parser = place)]
    pub(crate) graph: Option<GraphPlace>,

    /// With a graph-data directory: JSON list of releases, each with `image`, `arch` and
    /// `release-metadata`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "graph")]
    pub(crate) releases: Option<PathBuf>,

    /// Architecture of the cluster; default: that of its API server
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<String>,
}

/// Location of an update graph.
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
