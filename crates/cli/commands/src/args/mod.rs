//! What can be typed, and the help that teaches it.

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
pub(crate) mod report;
pub(crate) mod source;
pub(crate) mod update_service;
pub(crate) mod upgrade;
pub(crate) mod upgrade_preflight;
pub(crate) mod waiting;

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
/// Fairway says, before anything is touched, whether a cluster may update to a release, what
/// would go wrong and how to get there; and then it does the update. It speaks the API that
/// OpenShift and OKD administrators know: ClusterVersion, ClusterOperator and the update graph.
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
    /// Say less: only results and errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say more; twice for debugging
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Even into a file or a pipe
    Always,
    /// Not at all
    Never,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a Kubernetes API in this process, with nodes whose pods run
    ///
    /// For trying Fairway out, and for tests: it answers as a real API server does, needs no root
    /// and no container engine, is ready in seconds, and leaves nothing behind. `kubectl` works
    /// with it as with any cluster. All state is in memory.
    ///
    /// An example platform of six operators comes with it, in several releases that are made from
    /// this program, with an update service and the operator that updates it; `--tour` shows what
    /// that is good for.
    ///
    /// Pods run as processes, in namespaces of their own where the kernel allows it. Their images
    /// come from OCI image layouts: the image `shell`, made of this machine's shell and its basic
    /// tools, is always there; `--images` adds others, such as one that
    /// `skopeo copy docker://… oci:DIR:NAME` wrote.
    #[cfg(feature = "sandbox")]
    Sandbox(SandboxArgs),

    /// Build, check and explain update graphs
    ///
    /// For those who maintain graph-data: what clusters get of it, what is wrong in it, how
    /// clusters get from one version to another, and why an update is missing.
    Graph(GraphArgs),

    /// Serve update graphs to clusters
    ///
    /// Clusters ask it which updates there are for their channel and architecture. All answers are
    /// made ahead, whenever graph-data or releases change; data that cannot be used never replaces
    /// data that can. Any number of replicas give the same answers without knowing of each other.
    ///
    /// Beside graphs there are `/healthz`, `/readyz`, `/metrics` and `/openapi.json`, which describes
    /// everything that can be asked.
    #[command(after_help = "\
Examples:
  fairway update-service --graph-data=. --releases=releases.json
  fairway update-service --graph-data-image=registry.example/graph-data:latest \\
    --registry=registry.example/team/releases --pull-secret=config.json
  fairway update-service --graph-data=. --releases=releases.json --address=[::]:8443 \\
    --tls-cert=tls.crt --tls-key=tls.key")]
    UpdateService(UpdateServiceArgs),

    /// Show what this cluster may update to, and why not to other releases; and update it
    ///
    /// The text has the updates that are recommended for this cluster, and whatever stands in the
    /// way of updates. `--include-not-recommended` adds the others, each with the risks that speak
    /// against it; JSON and YAML always have both.
    ///
    /// The exit code is 4 when it is not known which updates there are: because nobody has asked
    /// the update service yet, or it has not answered, or because this cluster has no
    /// ClusterVersion.
    ///
    /// `--to`, `--to-image` and `--to-latest` ask for an update, `--clear` withdraws it. The
    /// operator decides whether it begins: its answer is waited for and shown; `--wait` waits until
    /// the update is complete. The exit code is 3 when a risk, a check or the operator says no, 5
    /// when there is no answer in time, and then the request stands all the same; and 6 when risks
    /// were accepted for that version, and there are new ones.
    ///
    /// A downgrade, a skipped minor version, a pre-release, a release of candidate channels, an
    /// image whose version cannot be found out, and `--force` have to be confirmed: by whoever is
    /// at the terminal, or with `--yes`.
    ///
    /// Before that, any release can be asked what it says about this cluster: `--mode=preflight` has
    /// it look, `--status-preflight` shows what it has found, `--clear-preflight` ends it, and
    /// `--dry-run` does all three. Nothing is changed by it, and an update on its way goes on. The
    /// exit code is 0 when nothing was found that is not accepted, 3 when something was, and 4 when
    /// that cannot be told: it is not done, some checks gave no answer, or the operator does not
    /// know preflights.
    ///
    /// A request without its mode is an update: never remove `mode` alone from ClusterVersion.
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

    /// Look at many clusters at once: where each may update to, and what stands in the way
    ///
    /// For those who keep more clusters than they can look at one by one. The clusters are contexts
    /// of a kubeconfig, or a directory of recorded ones.
    Fleet(FleetArgs),

    /// Bring the operator of a release into a cluster that has none
    ///
    /// What the operator needs to run is applied: its namespace, the update API, its permissions, its
    /// Deployment; and a ClusterVersion is made. The operator that runs then brings the rest of the
    /// release. Doing it twice changes nothing; a cluster that has another release is left alone,
    /// because the way to another release is an update.
    ///
    /// The exit code is 5 when the platform is not complete in time: it goes on nevertheless.
    #[command(after_help = "\
Examples:
  fairway install --release-image=registry.example/releases:5.0.0 --channel=stable-5.0
  fairway install --release-image=oci:releases:5.0.0 --pull-from=registry.example/releases --no-wait")]
    Install(InstallArgs),

    /// Run the operator that keeps ClusterVersion
    ///
    /// It asks the update service which updates there are, finds out with the cluster's own metrics
    /// which risks concern this cluster, and says in ClusterVersion what is recommended, and why
    /// the rest is not. It runs in the cluster, as `deploy/operator` has it, or anywhere else
    /// with a kubeconfig. Of several, the one that holds the Lease works, and the others wait.
    ///
    /// The first SIGINT or SIGTERM ends it in good order: it releases the Lease, so that a successor
    /// need not wait. The second one ends it at once. Every option can also be given by the
    /// environment variable that is shown with it.
    #[command(after_help = "\
Examples:
  fairway operator --node-name=$(hostname) --release-image=registry.example/release@sha256:… \\
    --kubeconfig=kubeconfig --listen=127.0.0.1:9099
  fairway operator --node-name=$(hostname) --release-image=registry.example/release@sha256:… \\
    --update-service=http://127.0.0.1:8080/api/upgrades_info/graph --metrics-snapshot=samples.txt
  curl http://127.0.0.1:9099/readyz")]
    Operator(Box<OperatorArgs>),

    /// Keep the platform from outrunning the operators that OLM has installed
    ///
    /// Operators say up to which version of the platform they run, by the annotation
    /// `operators.coreos.com/maxOpenShiftVersion` or by OLM's own property. The guard says in a
    /// ClusterOperator which of them stand against which updates, and refuses to install operators
    /// that do not run on the version of this cluster. Without a ClusterVersion it does neither.
    ///
    /// A guard that does not answer blocks nothing. It makes and renews the certificate of its
    /// webhook itself. Of several guards all answer, and the one that holds the Lease writes.
    #[command(after_help = "\
Examples:
  fairway olm-guard --kubeconfig=kubeconfig --cluster-operator=olm-guard \\
    --listen=127.0.0.1:9443 --webhook-url=https://127.0.0.1:9443/validate
  curl --insecure https://127.0.0.1:9443/metrics")]
    OlmGuard(Box<OlmGuardArgs>),

    /// Ask a release what it would stumble over in a cluster
    ///
    /// With `--once`, the release is read from a registry, an OCI image layout or a directory, looks
    /// at the cluster, and the answer is printed: no operator is needed, nothing is changed, and the
    /// right to read is enough. What is read of the release is compared with its digest; whether it
    /// is signed is another question: `fairway release verify`.
    ///
    /// The exit code is 0 when nothing was found, 3 when something speaks against the update, and 4
    /// when something could not be checked and nothing else was found.
    ///
    /// Without `--once`, it is what the operator of the running release starts in a pod of the target
    /// release: it goes on looking, and writes what it knows into a file. People ask for that with
    /// `fairway upgrade --mode=preflight --to=VERSION`.
    #[command(after_help = "\
Examples:
  fairway preflight --once --release-image=registry.example/releases:5.2.0
  fairway preflight --once --release-image=oci:releases:5.2.0 --kubeconfig=kubeconfig -o json
  fairway preflight --once --release-image=registry.example/releases:5.2.0 || test $? -eq 3")]
    Preflight(Box<PreflightArgs>),

    /// Make, look at and compare release images
    ///
    /// For those who build a platform. A release image is the Fairway image with the manifests of
    /// all operators and the list of their images: everything that a cluster needs for an update.
    Release(ReleaseArgs),

    /// Say up to which version of the platform operators of OLM run
    ///
    /// For administrators, what the installed ones mean for updates; for those who maintain catalogs,
    /// which bundles a version of the platform takes.
    Olm(Box<OlmArgs>),

    /// Print the CustomResourceDefinitions of the update API
    ///
    /// Apply them with `fairway crds | kubectl apply -f -`, or keep them in a repository with
    /// `fairway crds --dir=…`. A server older than 1.25 does not know the rules in them and leaves
    /// them out: there, kubectl needs `--validate=false`.
    Crds(CrdsArgs),

    /// Print a completion script for a shell
    ///
    /// For bash: `source <(fairway completion bash)`; for zsh, the same, or write it to a file
    /// `_fairway` in a directory of `$fpath`. For fish: `fairway completion fish | source`.
    ///
    /// These three ask the cluster that the words name, within a second: versions, images, channels,
    /// risks and contexts are completed, too. As plugins, kubectl and oc ask a link to this program
    /// that is called `kubectl_complete-fairway` or `oc_complete-fairway`.
    Completion(CompletionArgs),

    /// Write the manual pages
    ///
    /// One page for each command, to be read with `man -l DIR/fairway.1`.
    Man(ManArgs),

    /// Run an operator of the example platform, in a pod of it
    #[cfg(feature = "sandbox")]
    #[command(hide = true)]
    ExampleOperator(ExampleOperatorArgs),

    /// Run the check of an operator of the example platform, in a preflight
    #[cfg(feature = "sandbox")]
    #[command(hide = true)]
    ExampleCheck(ExampleCheckArgs),

    /// Make the releases of the example platform from this program
    #[cfg(feature = "sandbox")]
    #[command(hide = true)]
    ExamplePlatform(ExamplePlatformArgs),

    /// Make the directory for the results of preflights, and hand it to the operator's user
    #[command(hide = true)]
    PrepareResults(PrepareResultsArgs),

    /// Write the pages of the reference
    #[command(hide = true)]
    Reference(ReferenceArgs),
}

#[cfg(feature = "sandbox")]
#[derive(clap::Args)]
pub(crate) struct SandboxArgs {
    /// Keep the kubeconfig, the audit log and the files of pods here; made if it is missing
    ///
    /// Without it they are in a temporary directory and go with the sandbox.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// Serve on this port of 127.0.0.1 instead of a free one
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    /// How many nodes there are, each with host paths of its own
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u8).range(..=20))]
    pub(crate) nodes: u8,

    /// The release of the example platform that the cluster begins with
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "5.0.0",
        value_parser = fairway_example::RELEASES.map(|release| release.version)
    )]
    pub(crate) platform: String,

    /// Show updates of the platform from beginning to end, with explanations, and end
    #[arg(long, conflicts_with_all = ["no_platform", "platform"])]
    pub(crate) tour: bool,

    /// Leave the example platform out: a cluster with the update API and nothing else in it
    #[arg(long, conflicts_with = "platform")]
    pub(crate) no_platform: bool,

    /// An OCI image layout whose images pods can use; may be given several times
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) images: Vec<PathBuf>,
}

#[cfg(feature = "sandbox")]
impl SandboxArgs {
    /// The release of the platform, if there is to be one. Without nodes, nothing would run.
    pub(crate) fn release(&self) -> Option<&str> {
        (!self.no_platform && self.nodes > 0).then_some(self.platform.as_str())
    }
}

#[derive(clap::Args)]
pub(crate) struct CrdsArgs {
    /// How to print them
    #[arg(long, short, value_name = "FORMAT", default_value = "yaml")]
    pub(crate) output: OutputFormat,

    /// Write each to a file in this directory instead
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "output")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OutputFormat {
    /// One JSON document
    Json,
    /// YAML
    Yaml,
}

#[derive(clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// The directory to write to; it is made if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct ReferenceArgs {
    /// The directory to write to; it is made if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}

#[derive(clap::Args)]
pub(crate) struct PrepareResultsArgs {
    /// The directory; it is made if it is missing
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// The user and the group that it is handed to
    #[arg(long, value_name = "UID")]
    pub(crate) owner: u32,
}

fn exit_codes() -> String {
    let header = STYLES.get_header();
    let codes =
        ExitStatus::ALL.iter().map(|status| format!("\n  {}  {}", status.code(), status.meaning()));
    format!("{header}Exit codes:{header:#}{}", codes.collect::<String>())
}
