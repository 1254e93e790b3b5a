//! Arguments of `fairway release info`.

use clap::ValueEnum;

use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;

#[derive(clap::Args)]
pub(crate) struct InfoArgs {
    /// Release: registry.example/releases:5.1.0, oci:DIR:NAME, or a directory with its files
    #[arg(value_name = "IMAGE|DIR")]
    pub(crate) release: String,

    /// Print the task graph: the order in which an update applies the manifests
    ///
    /// The graph contains the manifests for clusters of the default profile with all capabilities.
    /// Steps are applied one after the other; the components of a step are applied in parallel.
    #[arg(long, value_name = "FORMAT", conflicts_with = "output")]
    pub(crate) graph: Option<TaskGraphFormat>,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) access: AccessArgs,
}

/// The format of a task graph.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TaskGraphFormat {
    /// Steps and their components, as lines
    Text,
    /// Nodes and edges, for Graphviz
    Dot,
    /// SVG, for browsers
    Svg,
}
