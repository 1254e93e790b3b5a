//! Arguments of the command line, with their help.
//!
//! `Args` is the root. A module has the arguments of one command, or arguments that several
//! commands share:
//!
//! | module | content |
//! | --- | --- |
//! | `upgrade`, `acceptance`, `upgrade_preflight` | `fairway upgrade` |
//! | `insight`, `plan`, `explain` | `fairway upgrade status`, `recommend`, `plan` and `explain` |
//! | `fleet` | `fairway fleet` |
//! | `graph`, `release`, `release_new` | `fairway graph` and `fairway release` |
//! | `install`, `olm` | `fairway install` and `fairway olm` |
//! | `operator`, `olm_guard`, `preflight`, `update_service` | long-running processes |
//! | `example` | the example platform |
//! | `cluster`, `source` | selection of a cluster or of a recorded one |
//! | `registry`, `content`, `pull_spec` | registries, contents of a release, image references |
//! | `catalog_files` | file-based catalogs |
//! | `lease`, `waiting`, `duration` | leader election, timeouts, durations |
//! | `report` | output format |

pub(crate) mod acceptance;
pub(crate) mod catalog_files;
pub(crate) mod cluster;
pub(crate) mod content;
mod duration;
#[cfg(feature = "sandbox")]
pub(crate) mod example;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod graph;
pub(crate) mod insight;
pub(crate) mod install;
pub(crate) mod lease;
pub(crate) mod olm;
pub(crate) mod olm_guard;
pub(crate) mod operator;
pub(crate) mod plan;
pub(crate) mod preflight;
pub(crate) mod pull_spec;
pub(crate) mod registry;
pub(crate) mod release;
mod release_new;
pub(crate) mod report;
pub(crate) mod source;
pub(crate) mod update_service;
pub(crate) mod upgrade;
pub(crate) mod upgrade_preflight;
pub(crate) mod waiting;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::exit::ExitStatus;
#[cfg(feature = "sandbox")]
use example::{ExampleCheckArgs, ExampleOperatorArgs, ExamplePlatformArgs};
use fleet::FleetArgs;
use graph::GraphArgs;
use install::InstallArgs;
use olm::OlmArgs;
use olm_guard::OlmGuardArgs;
use operator::OperatorArgs;
use preflight::PreflightArgs;
use release::ReleaseArgs;
use update_service::UpdateServiceArgs;
use upgrade::UpgradeArgs;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Safe updates for Kubernetes platforms
///
/// Fairway reports whether a cluster can update to a release, which risks apply and which upgrade
/// path to take, and then runs the update. It implements the API that OpenShift and OKD
/// administrators know: ClusterVersion, ClusterOperator and the update graph.
#[derive(Parser)]
#[command(
    name = "fairway",
    version,
    styles = STYLES,
    max_term_width = 100,
    after_long_help = exit_codes(),
    disable_help_subcommand = true
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Print only results and errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print more; repeat for debug output
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Colour of the output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always, also for files and pipes
    Always,
    /// Never
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a Kubernetes API with nodes and pods in one process
    ///
    /// The sandbox is for evaluation and tests. It behaves like a real API server, needs neither
    /// root nor a container engine, starts in seconds and keeps all state in memory. `kubectl`
    /// works as with any cluster.
    ///
    /// It includes an example platform of six operators in several releases, with an update service
    /// and the cluster-version operator. All their images are built from this binary. `--tour`
    /// demonstrates updates of this platform.
    ///
    /// Pods run as processes, in their own Linux namespaces if the kernel allows it. Their images
    /// come from OCI image layouts. The image `shell` contains the shell and the basic tools of
    /// this host and is always available. `--images` adds other images, such as one written by
    /// `skopeo copy docker://… oci:DIR:NAME`.
    #[cfg(feature = "sandbox")]
    Sandbox(SandboxArgs),

    /// Build, check and explain update graphs
    ///
    /// The commands are for maintainers of graph-data. They show the graph that clusters receive,
    /// errors in graph-data, upgrade paths between versions, and the reason why an update is
    /// missing.
    Graph(GraphArgs),

    /// Serve update graphs to clusters
    ///
    /// Clusters request the updates for their channel and architecture. The service prepares all
    /// responses whenever graph-data or releases change. Invalid data never replaces valid data.
    /// Replicas serve identical responses and need no coordination.
    ///
    /// The service also serves `/healthz`, `/readyz`, `/metrics` and `/openapi.json`, the
    /// description of its API.
    #[command(after_help = "\
Examples:
  fairway update-service --graph-data=. --releases=releases.json
  fairway update-service --graph-data-image=registry.example/graph-data:latest \\
    --registry=registry.example/team/releases --pull-secret=config.json
  fairway update-service --graph-data=. --releases=releases.json --address=[::]:8443 \\
    --tls-cert=tls.crt --tls-key=tls.key")]
    UpdateService(UpdateServiceArgs),

    /// Request an update, or show the updates of the cluster
    ///
    /// Without an option that requests or withdraws something, the command lists the updates that
    /// are recommended for this cluster, and all blockers. `--include-not-recommended` adds the
    /// other updates with their risks. JSON and YAML always contain both.
    ///
    /// The exit code is 4 if the available updates are unknown: the operator has not contacted the
    /// update service yet, the update service has not responded, or the cluster has no
    /// ClusterVersion.
    ///
    /// `--to`, `--to-image`, `--to-latest` and `--to-multi-arch` request an update. `--clear`
    /// withdraws the request. The operator accepts or refuses the request; the command waits for
    /// its decision and prints it. `--wait` waits until the update is complete. The exit code is 3
    /// if a risk, a check or the operator blocks the update. It is 5 on a timeout; the request
    /// stays in place. It is 6 if new risks have appeared since the risks were accepted.
    ///
    /// A downgrade, a skipped minor version, a pre-release, a release of a candidate channel, an
    /// image with an unknown version, and `--force` need a confirmation: at the terminal, or with
    /// `--yes`.
    ///
    /// A preflight runs the checks of a release against this cluster before an update.
    /// `--mode=preflight` requests it, `--status-preflight` shows its findings, `--clear-preflight`
    /// withdraws it, and `--dry-run` does all three. A preflight applies no manifests of the
    /// release, and an update in progress continues. The exit code is 0 without unaccepted
    /// findings, 3 with unaccepted findings, and 4 if the result is unknown: the preflight is not
    /// complete, some checks have no result, or the operator does not support preflights.
    ///
    /// A request without a mode is an update. To withdraw a preflight, use `--clear-preflight`:
    /// removing only `mode` from `spec.desiredUpdate` requests the update.
    #[command(after_help = "\
Examples:
  fairway upgrade
  fairway upgrade --include-not-recommended
  fairway upgrade --to=5.1.4
  fairway upgrade --to=5.1.4 --wait=2h
  fairway upgrade --to=5.2.0 --allow-not-recommended
  fairway upgrade --to-image=registry.example/releases@sha256:… --allow-explicit-upgrade --yes
  fairway upgrade --clear
  fairway upgrade rollback
  fairway upgrade --mode=preflight --to=5.2.0 --wait
  fairway upgrade --status-preflight
  fairway upgrade --clear-preflight
  fairway upgrade --to-latest --dry-run
  fairway upgrade --to=5.2.0 --require-preflight=12h
  fairway upgrade -o json | jq -r '.recommended[].version'")]
    Upgrade(Box<UpgradeArgs>),

    /// Report on several clusters, and run preflights in them
    ///
    /// The clusters are contexts of a kubeconfig, or recorded clusters in a directory.
    Fleet(FleetArgs),

    /// Install the operator of a release in a cluster
    ///
    /// The command applies the namespace, the CRDs, the permissions and the Deployment of the
    /// operator, and creates a ClusterVersion. The operator then applies the rest of the release. A
    /// second run changes nothing. The command refuses a cluster that runs another release; use
    /// `fairway upgrade` to change the release.
    ///
    /// The exit code is 5 if the platform is not complete within the timeout; the installation
    /// continues in the cluster.
    #[command(after_help = "\
Examples:
  fairway install --release-image=registry.example/releases:5.0.0 --channel=stable-5.0
  fairway install --release-image=oci:releases:5.0.0 --pull-from=registry.example/releases --no-wait")]
    Install(InstallArgs),

    /// Run the cluster-version operator
    ///
    /// The operator retrieves updates from the update service, evaluates their risks with the
    /// metrics of the cluster, reports recommended and conditional updates in ClusterVersion, and
    /// rolls out the requested release. It runs in the cluster, as in `deploy/operator`, or
    /// anywhere with a kubeconfig. Of several replicas, only the leader writes.
    ///
    /// The first SIGINT or SIGTERM shuts the operator down gracefully and releases the Lease. The
    /// second one terminates it immediately. An environment variable can set each option; the help
    /// shows its name.
    #[command(after_help = "\
Examples:
  fairway operator --node-name=$(hostname) --release-image=registry.example/release@sha256:… \\
    --kubeconfig=kubeconfig --listen=127.0.0.1:9099 --metrics-auth=none
  fairway operator --node-name=$(hostname) --release-image=registry.example/release@sha256:… \\
    --update-service=http://127.0.0.1:8080/api/upgrades_info/graph --metrics-snapshot=samples.txt
  curl http://127.0.0.1:9099/metrics
  curl http://127.0.0.1:9098/readyz")]
    Operator(Box<OperatorArgs>),

    /// Block updates that installed OLM operators do not support
    ///
    /// Operators declare their maximum platform version in the annotation
    /// `operators.coreos.com/maxOpenShiftVersion` or in the OLM property `olm.maxOpenShiftVersion`.
    /// The OLM guard reports in a ClusterOperator which operators block which updates, and refuses
    /// to install operators that do not support the version of this cluster. Without a
    /// ClusterVersion it does neither.
    ///
    /// While the guard is unavailable, its webhook refuses nothing. The guard creates and renews
    /// the certificate of its webhook. All replicas answer admission requests; only the leader
    /// writes.
    #[command(after_help = "\
Examples:
  fairway olm-guard --kubeconfig=kubeconfig --cluster-operator=olm-guard \\
    --listen=127.0.0.1:9443 --webhook-url=https://127.0.0.1:9443/validate --metrics-auth=none
  curl --insecure https://127.0.0.1:9443/metrics
  curl http://127.0.0.1:9444/readyz")]
    OlmGuard(Box<OlmGuardArgs>),

    /// Run the checks of a release against a cluster
    ///
    /// With `--once`, the command reads the release from a registry, an OCI image layout or a
    /// directory, runs its checks, and prints the findings. It needs no operator. Without `--jobs`,
    /// it changes nothing and only needs read permissions. It verifies the digest of the release,
    /// but not its signature: use `fairway release verify`.
    ///
    /// The exit code is 0 without findings, 3 with findings, and 4 if a check has no result and
    /// there are no findings.
    ///
    /// Without `--once`, the command is the process that the operator starts in a pod of the target
    /// release. It repeats the checks and writes the results to a file. To start it, run `fairway
    /// upgrade --mode=preflight --to=VERSION`.
    #[command(after_help = "\
Examples:
  fairway preflight --once --release-image=registry.example/releases:5.2.0
  fairway preflight --once --release-image=oci:releases:5.2.0 --kubeconfig=kubeconfig -o json
  fairway preflight --once --release-image=registry.example/releases:5.2.0 || test $? -eq 3")]
    Preflight(Box<PreflightArgs>),

    /// Create, inspect, compare, sign and verify release images
    ///
    /// The commands are for platform builders. A release image is the Fairway image with the
    /// manifests of all operators and the list of their images. It contains or references
    /// everything that a cluster needs for an update.
    Release(ReleaseArgs),

    /// Show which platform versions OLM operators support
    ///
    /// `list` shows administrators how installed operators affect updates. `check` shows catalog
    /// maintainers which bundles a version of the platform accepts.
    Olm(Box<OlmArgs>),

    /// Print the CRDs of the update API
    ///
    /// Apply them with `fairway crds | kubectl apply -f -`, or write them to a directory with
    /// `fairway crds --dir=…`. API servers older than 1.25 drop the validation rules of the CRDs;
    /// kubectl then needs `--validate=false`.
    Crds(CrdsArgs),

    /// Print a completion script for a shell
    ///
    /// For bash: `source <(fairway completion bash)`; for zsh, the same, or write it to a file
    /// `_fairway` in a directory of `$fpath`. For fish: `fairway completion fish | source`.
    ///
    /// In these three shells, completion also covers kubeconfig contexts, and the versions, images,
    /// channels and risks of the cluster that the command line selects, with a timeout of one
    /// second. For completion as a plugin of kubectl or oc, create a link to this binary with the
    /// name `kubectl_complete-fairway` or `oc_complete-fairway`.
    Completion(CompletionArgs),

    /// Write the manual pages to a directory
    ///
    /// The command writes one page for each command. For example, read the first page with `man -l
    /// DIR/fairway.1`.
    Man(PagesArgs),

    /// Run an operator of the example platform in a pod
    #[cfg(feature = "sandbox")]
    #[command(hide = true)]
    ExampleOperator(ExampleOperatorArgs),

    /// Run the check of an operator of the example platform in a preflight
    #[cfg(feature = "sandbox")]
    #[command(hide = true)]
    ExampleCheck(ExampleCheckArgs),

    /// Create the releases of the example platform from this binary
    #[cfg(feature = "sandbox")]
    #[command(hide = true)]
    ExamplePlatform(ExamplePlatformArgs),

    /// Create the directory for preflight results and change its owner to the user of the operator
    #[command(hide = true)]
    PrepareResults(PrepareResultsArgs),

    /// Send a probe to a process of the same pod: an exec probe for images without other commands
    #[command(hide = true)]
    Probe(ProbeArgs),

    /// Write the reference pages to a directory
    #[command(hide = true)]
    Reference(PagesArgs),
}

#[cfg(feature = "sandbox")]
#[derive(clap::Args)]
pub(crate) struct SandboxArgs {
    /// Directory for the kubeconfig, the audit log and the files of pods; created if it is missing
    ///
    /// The default is a temporary directory that is removed with the sandbox.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// Port on 127.0.0.1; default: a free port
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    /// Number of nodes, each with its own host paths
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u8).range(..=20))]
    pub(crate) nodes: u8,

    /// Initial release of the example platform
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "5.0.0",
        value_parser = fairway_example::RELEASES.map(|release| release.version)
    )]
    pub(crate) platform: String,

    /// Demonstrate updates of the platform with explanations, then exit
    #[arg(long, conflicts_with_all = ["no_platform", "platform"])]
    pub(crate) tour: bool,

    /// Start without the example platform: a cluster with the update API only
    #[arg(long, conflicts_with = "platform")]
    pub(crate) no_platform: bool,

    /// OCI image layout with images for pods; repeatable
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) images: Vec<PathBuf>,
}

#[cfg(feature = "sandbox")]
impl SandboxArgs {
    /// The release of the platform, unless `--no-platform` or `--nodes=0` is set.
    pub(crate) fn release(&self) -> Option<&str> {
        (!self.no_platform && self.nodes > 0).then_some(self.platform.as_str())
    }
}

#[derive(clap::Args)]
pub(crate) struct CrdsArgs {
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: OutputFormat,

    /// Write each CRD to a file in this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "output")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OutputFormat {
    /// One JSON document
    Json,
    /// YAML documents
    Yaml,
}

#[derive(clap::Args)]
pub(crate) struct CompletionArgs {
    /// Shell to generate completion for
    pub(crate) shell: Shell,
}

#[derive(clap::Args)]
pub(crate) struct PagesArgs {
    /// Directory for the pages; created if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct PrepareResultsArgs {
    /// Directory for the results; created if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// User ID and group ID of the owner
    #[arg(long, value_name = "UID")]
    pub(crate) owner: u32,
}

#[derive(clap::Args)]
pub(crate) struct ProbeArgs {
    /// Address of the process
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: SocketAddr,

    /// Path of the probe, such as `/readyz`
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
}

fn exit_codes() -> String {
    let header = STYLES.get_header();
    let codes =
        ExitStatus::ALL.iter().map(|status| format!("\n  {}  {}", status.code(), status.meaning()));
    format!("{header}Exit codes:{header:#}{}", codes.collect::<String>())
}
