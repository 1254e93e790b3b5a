//! Arguments of `fairway graph`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{ArgGroup, Subcommand, ValueEnum, ValueHint};
use fairway_api::Version;
use fairway_graph::lint::LintRule;

use super::registry::{GraphDataImageArgs, RegistryArgs, ReleasesArgs};
use super::report::ReportArgs;

#[derive(clap::Args)]
pub(crate) struct GraphArgs {
    #[command(subcommand)]
    pub(crate) command: GraphCommand,
}

#[derive(Subcommand)]
pub(crate) enum GraphCommand {
    /// Print the graph that clusters receive
    ///
    /// The output is the JSON response of the update service. Without `--arch` and `--channel` it
    /// is the complete graph, and version strings contain the architecture. An architecture or a
    /// channel without releases gives an empty graph.
    #[command(after_help = "\
Examples:
  fairway graph build --releases=releases.json --graph-data=. --channel=stable-5.1 --arch=amd64
  fairway graph build --registry=registry.example/team/releases --graph-data=.
  fairway graph build --from-graph=raw.json --graph-data=.")]
    Build(BuildArgs),

    /// Check graph-data for errors
    ///
    /// The command reports all findings, each with its location and a remediation. The exit code is
    /// 3 if there are errors; `--deny` includes warnings or notes. `--base` omits findings of an
    /// older state, so that only new ones are reported.
    ///
    /// `--releases`, `--registry` or `--oci-layout` provide the existing versions and updates.
    /// Otherwise, the command uses the versions of all channels and does not report stranded
    /// versions.
    #[command(after_help = "\
Examples:
  fairway graph lint
  fairway graph lint --releases=releases.json --deny=warnings
  git worktree add ../old main && fairway graph lint --base=../old
  fairway graph lint --output=sarif > findings.sarif")]
    Lint(LintArgs),

    /// Show the graph as text, JSON, DOT or SVG
    ///
    /// The text lists all releases with the sources of their updates: `<-` for all clusters, `<?`
    /// for clusters to which the risks in parentheses do not apply. DOT and SVG omit updates that a
    /// sequence of other updates covers; text and JSON are complete.
    #[command(after_help = "\
Examples:
  fairway graph show --releases=releases.json --graph-data=. --channel=stable-5.1
  fairway graph show --releases=releases.json --graph-data=. --channel=fast-5.1 -o svg > fast.svg
  curl -s 'https://updates.example.com/graph?channel=stable-5.1' | fairway graph show --from-graph=-")]
    Show(ShowArgs),

    /// Find upgrade paths between two versions, with their risks
    ///
    /// The command shows the path with the fewest updates and the path with the fewest risks. The
    /// exit code is 3 if there is no path, and 4 if a version is unknown.
    #[command(after_help = "\
Example:
  fairway graph path 4.17.3 5.1.0 --releases=releases.json --graph-data=. --channel=stable-5.1")]
    Path(EdgeArgs),

    /// Explain why an update is available, conditional or blocked
    ///
    /// The output names the file and the rule. The exit code is 0 if the update is available, even
    /// if only conditionally, 3 if it is not, and 4 if a version is unknown.
    #[command(after_help = "\
Example:
  fairway graph why 5.0.7 5.1.0 --releases=releases.json --graph-data=. --channel=stable-5.1")]
    Why(EdgeArgs),

    /// Compare two states of graph-data, or two graphs
    ///
    /// The command compares two directories as graph-data; with `--releases`, `--registry` or
    /// `--oci-layout` it also compares the resulting graphs. It compares two files as graphs.
    #[command(after_help = "\
Examples:
  git worktree add ../old main && fairway graph diff ../old . --releases=releases.json
  fairway graph diff before.json after.json --exit-code")]
    Diff(DiffArgs),

    /// List the channels of a version
    #[command(after_help = "\
Example:
  fairway graph channels 5.0.7 --releases=releases.json --graph-data=.")]
    Channels(ChannelsArgs),

    /// Print the latest version in a channel
    #[command(after_help = "\
Example:
  fairway graph latest stable-5.1 --releases=releases.json --graph-data=.")]
    Latest(LatestArgs),
}

/// Input of the graph.
#[derive(clap::Args)]
#[command(
    next_help_heading = "Graph",
    group(ArgGroup::new("source").required(true).args(["releases", "registry", "oci_layout", "from_graph"]))
)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) releases: ReleasesArgs,

    /// File with a graph as served by an update service; `-` is standard input
    ///
    /// Without `--graph-data`, the command uses the graph unchanged.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_graph: Option<PathBuf>,

    /// Graph-data: a directory with `channels` and `blocked-edges`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) graph_data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) image: GraphDataImageArgs,

    /// Select releases of this architecture
    ///
    /// The default is all architectures for `build`. For other commands it is `amd64`, or the only
    /// architecture.
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<String>,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}

/// Part of a graph that some clusters receive.
#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    /// Select releases in this channel
    #[arg(long, value_name = "CHANNEL", help_heading = "Graph")]
    pub(crate) channel: Option<String>,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(clap::Args)]
pub(crate) struct BuildArgs {
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "json")]
    pub(crate) output: GraphFormat,

    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Format of the update service
    Json,
}

#[derive(clap::Args)]
pub(crate) struct LintArgs {
    /// Directory with `channels` and `blocked-edges`
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) releases: ReleasesArgs,

    /// Older state of the directory; its findings are omitted
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) base: Option<PathBuf>,

    /// Omit findings of this rule; repeatable
    #[arg(long, value_name = "RULE", value_parser = rules())]
    pub(crate) allow: Vec<String>,

    /// Severity to fail on, in addition to errors
    #[arg(long, value_name = "LEVEL")]
    pub(crate) deny: Option<Denied>,

    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: LintFormat,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}

/// Names of all rules, with their summaries.
fn rules() -> PossibleValuesParser {
    let value = |rule: &LintRule| PossibleValue::new(rule.id).help(rule.summary);
    fairway_graph::lint::rules().into_iter().map(value).into()
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Denied {
    /// Warnings
    Warnings,
    /// Warnings and notes
    Notes,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LintFormat {
    /// Source lines with their findings
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code review systems
    Sarif,
}

#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ShowFormat,

    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ShowFormat {
    /// All releases and the sources of their updates
    Text,
    /// Format of the update service
    Json,
    /// Graphviz
    Dot,
    /// SVG, for browsers
    Svg,
}

#[derive(clap::Args)]
pub(crate) struct EdgeArgs {
    /// Source version
    pub(crate) from: Version,

    /// Target version
    pub(crate) to: Version,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    /// Old state: a graph-data directory, or a file with a graph
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) old: PathBuf,

    /// New state
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) new: PathBuf,

    #[command(flatten)]
    pub(crate) releases: ReleasesArgs,

    /// Compare the graphs of this architecture
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<String>,

    /// Compare the graphs of this channel
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,

    /// Exit with 3 if there are changes
    #[arg(long)]
    pub(crate) exit_code: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}

#[derive(clap::Args)]
pub(crate) struct ChannelsArgs {
    /// Version to look up
    pub(crate) version: Version,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(clap::Args)]
pub(crate) struct LatestArgs {
    /// Channel to look up
    pub(crate) channel: String,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}
