//! What can be typed after `fairway graph`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{ArgGroup, Subcommand, ValueEnum, ValueHint};
use fairway_api::Version;
use fairway_graph::lint::Rule;

use super::registry::{GraphDataImageArgs, RegistryArgs, ReleasesArgs};
use super::report::ReportArgs;

#[derive(clap::Args)]
pub(crate) struct GraphArgs {
    #[command(subcommand)]
    pub(crate) command: GraphCommand,
}

#[derive(Subcommand)]
pub(crate) enum GraphCommand {
    /// Print the graph that clusters get
    ///
    /// As JSON, in the form in which the update service answers. Without `--arch` and `--channel`
    /// it is all there is, and versions name their architectures. An architecture or a channel that
    /// no release has gives an empty graph.
    #[command(after_help = "\
Examples:
  fairway graph build --releases=releases.json --graph-data=. --channel=stable-5.1 --arch=amd64
  fairway graph build --registry=registry.example/team/releases --graph-data=.
  fairway graph build --from-graph=raw.json --graph-data=.")]
    Build(BuildArgs),

    /// Find the mistakes of graph-data before clusters do
    ///
    /// Everything that is found is shown in one run, each with its place and with what to do about
    /// it. The exit code is 3 when there are errors; `--deny` makes it 3 for warnings or notes,
    /// too. `--base` leaves out what was wrong before, so that only new mistakes count.
    ///
    /// With `--releases`, `--registry` or `--oci-layout` it is known which versions exist and which updates lead to them; without,
    /// the versions of all channels are taken for that, and no version is found to be stranded.
    #[command(after_help = "\
Examples:
  fairway graph lint
  fairway graph lint --releases=releases.json --deny=warnings
  git worktree add ../old main && fairway graph lint --base=../old
  fairway graph lint --output=sarif > findings.sarif")]
    Lint(LintArgs),

    /// Show the graph: as a text, as a picture, or as data
    ///
    /// The text has every release, with where updates to it come from: `<-` for every cluster,
    /// `<?` where the risks in parentheses do not apply. Pictures leave out updates that are the
    /// same as several others in a row; everything is in the text and in the data.
    #[command(after_help = "\
Examples:
  fairway graph show --releases=releases.json --graph-data=. --channel=stable-5.1
  fairway graph show --releases=releases.json --graph-data=. --channel=fast-5.1 -o svg > fast.svg
  curl -s 'https://updates.example.com/graph?channel=stable-5.1' | fairway graph show --from-graph=-")]
    Show(ShowArgs),

    /// Find the ways from one version to another, with their risks
    ///
    /// Shown are the way with the fewest steps and the one with the fewest risks, and what the
    /// risks are. The exit code is 3 when no updates lead there, and 4 when a version is unknown.
    #[command(after_help = "\
Example:
  fairway graph path 4.17.3 5.1.0 --releases=releases.json --graph-data=. --channel=stable-5.1")]
    Path(PathArgs),

    /// Say what becomes of an update, and why: which file, which rule
    ///
    /// The exit code is 0 when it is offered, if only to some clusters, 3 when it is not, and 4
    /// when a version is unknown.
    #[command(after_help = "\
Example:
  fairway graph why 5.0.7 5.1.0 --releases=releases.json --graph-data=. --channel=stable-5.1")]
    Why(WhyArgs),

    /// Show what changed between two states of graph-data, or between two graphs
    ///
    /// Two directories are compared as graph-data; with `--releases`, `--registry` or
    /// `--oci-layout`, the graphs that clusters get from them are compared as well. Two files are
    /// compared as graphs.
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

/// What the graph is made of.
#[derive(clap::Args)]
#[command(
    next_help_heading = "The graph",
    group(ArgGroup::new("source").required(true).args(["releases", "registry", "oci_layout", "from_graph"]))
)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) releases: ReleasesArgs,

    /// A graph, as an update service answers it; `-` is standard input
    ///
    /// Without `--graph-data` it is taken as it is.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_graph: Option<PathBuf>,

    /// What its maintainers say about releases: a directory with `channels` and `blocked-edges`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) graph_data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) image: GraphDataImageArgs,

    /// Only releases for this architecture
    ///
    /// Without it, `build` takes all of them, and the other commands `amd64` or the only one there
    /// is.
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<String>,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}

/// The part of a graph that some clusters see.
#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    /// Only releases in this channel
    #[arg(long, value_name = "CHANNEL", help_heading = "The graph")]
    pub(crate) channel: Option<String>,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(clap::Args)]
pub(crate) struct BuildArgs {
    /// How to print it
    #[arg(long, short, value_name = "FORMAT", default_value = "json")]
    pub(crate) output: GraphFormat,

    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum GraphFormat {
    /// As an update service answers
    Json,
}

#[derive(clap::Args)]
pub(crate) struct LintArgs {
    /// The directory with `channels` and `blocked-edges`
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, default_value = ".")]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) releases: ReleasesArgs,

    /// An older state of the directory: what was wrong there is not shown
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) base: Option<PathBuf>,

    /// Leave out what this rule finds; may be given several times
    #[arg(long, value_name = "RULE", value_parser = rules())]
    pub(crate) allow: Vec<String>,

    /// What to fail on, beside errors
    #[arg(long, value_name = "LEVEL")]
    pub(crate) deny: Option<Denied>,

    /// How to print what was found
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: LintFormat,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}

/// The rules by name, each with what it finds.
fn rules() -> PossibleValuesParser {
    let value = |rule: &Rule| PossibleValue::new(rule.id).help(rule.summary);
    fairway_graph::lint::rules().into_iter().map(value).into()
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Denied {
    /// What is probably not what was meant
    Warnings,
    /// That, and what is worth knowing
    Notes,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LintFormat {
    /// The lines in question, and what is wrong with them
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code review systems
    Sarif,
}

#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// How to show it
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: ShowFormat,

    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ShowFormat {
    /// Every release, and where updates to it come from
    Text,
    /// As an update service answers
    Json,
    /// For Graphviz
    Dot,
    /// For browsers
    Svg,
}

#[derive(clap::Args)]
pub(crate) struct PathArgs {
    #[command(flatten)]
    pub(crate) ends: EndsArgs,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(clap::Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) ends: EndsArgs,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(clap::Args)]
pub(crate) struct EndsArgs {
    /// The version to begin at
    pub(crate) from: Version,

    /// The version to arrive at
    pub(crate) to: Version,
}

#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    /// What there was: a graph-data directory, or a file with a graph
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) old: PathBuf,

    /// What there is
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) new: PathBuf,

    #[command(flatten)]
    pub(crate) releases: ReleasesArgs,

    /// Compare graphs for this architecture
    #[arg(long, value_name = "ARCH")]
    pub(crate) arch: Option<String>,

    /// Compare graphs of this channel
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,

    /// End with code 3 when something changed
    #[arg(long)]
    pub(crate) exit_code: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) registries: RegistryArgs,
}

#[derive(clap::Args)]
pub(crate) struct ChannelsArgs {
    /// The version
    pub(crate) version: Version,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(clap::Args)]
pub(crate) struct LatestArgs {
    /// The channel
    pub(crate) channel: String,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}
