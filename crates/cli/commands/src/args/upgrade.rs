//! What can be typed after `fairway upgrade`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueHint};
use fairway_api::Version;
use fairway_risk::Range;

use super::acceptance::{RiskChoice, UntilChoice, reason};
use super::cluster::ClusterArgs;
use super::explain::ExplainArgs;
use super::insight::{RecommendArgs, StatusArgs};
use super::plan::PlanArgs;
use super::pull_spec::PullSpec;
use super::registry::AccessArgs;
use super::report::ReportArgs;
use super::source::SourceArgs;
use super::upgrade_preflight::{CompareArgs, PreflightArgs};
use super::waiting::WaitingArgs;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct UpgradeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<UpgradeCommand>,

    /// List the updates that are not recommended for this cluster as well, with their risks
    #[arg(long)]
    pub(crate) include_not_recommended: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

    #[command(flatten)]
    pub(crate) preflight: PreflightArgs,

    /// How the version of an image is found out.
    #[command(flatten)]
    pub(crate) registry: AccessArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// An update to ask for, or to withdraw.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(clap::Args)]
#[command(
    next_help_heading = "Asking for an update",
    group(ArgGroup::new(TARGET).multiple(true))
)]
pub(crate) struct RequestArgs {
    /// Update to this version, one of those that are listed
    ///
    /// With `--to-image`, it is the version that the image has to have.
    #[arg(long, value_name = "VERSION", value_parser = version, group = TARGET)]
    pub(crate) to: Option<String>,

    /// Update to this release image, by its digest
    #[arg(long, value_name = "IMAGE", group = TARGET)]
    pub(crate) to_image: Option<PullSpec>,

    /// Update to the latest version that is recommended
    #[arg(long, group = TARGET, conflicts_with_all = ["to", "to_image"])]
    pub(crate) to_latest: bool,

    /// Keep the version, and change to its image that serves several architectures
    #[arg(
        long,
        group = TARGET,
        conflicts_with_all = ["to", "to_image", "to_latest", "allow_not_recommended"]
    )]
    pub(crate) to_multi_arch: bool,

    /// Withdraw the update that was asked for; what is complete stays, and risks stay accepted
    // Of a group, every member would be listed in the error, whatever was typed.
    #[arg(long, conflicts_with_all = ["to", "to_image", "to_latest", "to_multi_arch"])]
    pub(crate) clear: bool,

    /// Take an update that is not recommended, and accept for it exactly the risks that are shown
    #[arg(long, requires = TARGET)]
    pub(crate) allow_not_recommended: bool,

    /// Take an image that no listed update has
    #[arg(long, requires = "to_image")]
    pub(crate) allow_explicit_upgrade: bool,

    /// Ask for it although the cluster is failing, on its way to another release, or invalid
    #[arg(long, requires = TARGET)]
    pub(crate) allow_upgrade_with_warnings: bool,

    /// Have the operator waive signature, guards against downgrades and leaps, and risks; it is
    /// recorded
    #[arg(long, requires = TARGET)]
    pub(crate) force: bool,

    /// Confirm what is unusual about it: a downgrade, a skipped minor version, a pre-release, a
    /// release of candidate channels, an image of an unknown version, `--force`
    #[arg(long, short, requires = TARGET)]
    pub(crate) yes: bool,

    /// Run a preflight of that release, report it and withdraw it; with `--clear`,
    /// `--clear-preflight` and `--to-multi-arch`, say what would come of it
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,
}

/// What names a release.
pub(super) const TARGET: &str = "target";

impl RequestArgs {
    /// Whether something is asked for or withdrawn.
    pub(crate) fn is_one(&self) -> bool {
        self.asks() || self.clear
    }

    /// Whether something is asked for.
    pub(crate) fn asks(&self) -> bool {
        self.names_a_release() || self.to_multi_arch
    }

    /// Whether a release is named.
    pub(crate) fn names_a_release(&self) -> bool {
        self.to.is_some() || self.to_image.is_some() || self.to_latest
    }
}

pub(super) fn version(text: &str) -> Result<String, String> {
    Version::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

#[derive(Subcommand)]
pub(crate) enum UpgradeCommand {
    /// Take risks of updates by name, or stop taking them
    ///
    /// Updates whose risks are all accepted become recommended. Accepting a risk starts no update
    /// and withdraws none.
    ///
    /// Accepting a risk again replaces the terms on which it was accepted. `RISK-`, with a hyphen
    /// at its end, is accepted no more. What was thought through for one cluster is carried to
    /// others by `--export` and `--import`.
    #[command(after_help = "\
Examples:
  fairway upgrade accept SlowDisks --reason='replaced in March' --until=90d
  fairway upgrade accept SlowDisks,NoisyLogs --for=5.2.x
  fairway upgrade accept SlowDisks-
  fairway upgrade accept --replace NoisyLogs
  fairway upgrade accept --export --context=canary > accepted.yaml
  fairway upgrade accept --import=accepted.yaml --context=prod
  fairway upgrade accept SlowDisks --dry-run --from-file=cluster-cv.yaml
  fairway upgrade accept --clear")]
    Accept(AcceptArgs),

    /// Show the channel that updates come from, choose another one, or none
    ///
    /// Without CHANNEL, nothing is changed. A channel is taken if the running release is known to be
    /// in it, or if nobody knows which channels it is in. Without a channel, the update service is
    /// not asked, and no updates are known.
    #[command(after_help = "\
Examples:
  fairway upgrade channel
  fairway upgrade channel stable-5.1
  fairway upgrade channel eus-6.0 --allow-explicit-channel
  fairway upgrade channel --clear
  fairway upgrade channel --from-file=cluster-cv.yaml")]
    Channel(ChannelArgs),

    /// Compare what several releases say about this cluster, side by side
    ///
    /// Results of preflights are kept in the cluster until its version changes: a column for each
    /// release, a row for each finding. `--run` runs the preflights that are missing or incomplete,
    /// and asks for what was asked for before when it is done, also after Ctrl-C.
    ///
    /// The exit code is 3 when one of them found something that is not accepted, and 4 when one
    /// has no complete results.
    #[command(after_help = "\
Examples:
  fairway upgrade compare 5.1.0 5.2.0
  fairway upgrade compare 5.1.0 5.2.0 --run --wait=20m
  fairway upgrade compare 5.1.0 5.2.0 -o json | jq '.targets[] | {version: .target.version, result}'")]
    Compare(CompareArgs),

    /// Tell why: where a risk comes from and what is known about it, or whether a version is offered
    ///
    /// Of a risk: who publishes it, its rules, what came back from their queries and when, when they
    /// are asked again, which updates have it, and who accepted it on which terms. Of a version:
    /// whether it is offered, its risks, and why not. What came back from queries is what the
    /// operator has noted in the ConfigMap `risk-evaluations`.
    ///
    /// The exit code is 3 when a risk stands against an update, and 4 when that cannot be told.
    #[command(after_help = "\
Examples:
  fairway upgrade explain SlowDisks
  fairway upgrade explain 5.2.0
  fairway upgrade explain 5.2.9 --graph=graph.json
  fairway upgrade explain SlowDisks -o json | jq '.risk.definitions[].rules[].evaluation'
  fairway upgrade explain SlowDisks --from-file=cluster-cv.yaml")]
    Explain(ExplainArgs),

    /// Plan the way to a version, hop by hop
    ///
    /// Of all ways that the update graph has, it shows the one with the least risk, and the one with
    /// the fewest updates where that is another: what each update needs first, and the commands that
    /// carry it out. Risks are those of this cluster: what the operator has found out, and with
    /// `--metrics` what queries yield. Nothing is changed.
    ///
    /// The exit code is 3 when every way has a risk that is not accepted, or there is none, and 4
    /// when that cannot be told.
    #[command(after_help = "\
Examples:
  fairway upgrade plan --to=5.2
  fairway upgrade plan --to=5.2.3 --channel=fast-5.2
  fairway upgrade plan --to=stable-5.2 --graph=graph.json --metrics=samples.txt
  fairway upgrade plan --to=5.2 --from-file=cluster-cv.yaml --graph=https://updates.example/graph
  fairway upgrade plan --to=5.2 -o json | jq -r '.leastRisk.hops[].commands[]'")]
    Plan(PlanArgs),

    /// Tell which updates there are, and what speaks against them
    ///
    /// What speaks against any update comes first: a cluster that fails or is updating already, and
    /// alerts that are firing. Then come the latest two updates of each minor version. Nothing is
    /// changed: `fairway upgrade --to` asks for an update.
    ///
    /// With `--version`, the exit code is 3 when something speaks against that update, and 4 when
    /// that cannot be told. `--accept` names what does not count: issues as they are listed, risks
    /// by their names, or `ConditionalUpdateRisk` for all risks of the update.
    #[command(after_help = "\
Examples:
  fairway upgrade recommend
  fairway upgrade recommend --show-outdated-releases
  fairway upgrade recommend --version=5.1.3
  fairway upgrade recommend --version=5.1.3 --accept=PodDisruptionBudgetAtLimit,SlowDisks
  fairway upgrade recommend --from-file=cluster-cv.yaml -o json | jq '.updates[].version'")]
    Recommend(RecommendArgs),

    /// Go back to the release before, within a minor version
    ///
    /// The release before the one that the cluster has is asked for again. That has to be an earlier
    /// one of the same minor version, and no update may be under way: `fairway upgrade --clear`
    /// withdraws one. The operator has the same rules.
    #[command(after_help = "\
Examples:
  fairway upgrade rollback --dry-run
  fairway upgrade rollback
  fairway upgrade rollback --wait=1h")]
    Rollback(RollbackArgs),

    /// Tell what an update is doing, how well it goes, and what it waits for
    ///
    /// How far the control plane and the pools of nodes are, who is waited for and since when,
    /// what is wrong, and a command that shows more. How long it will take is told only where that
    /// can be trusted.
    ///
    /// The exit code is 3 when something stands in the way of the update, or the operator refuses the
    /// one that is asked for, and 0 when it goes on or nothing is updating.
    #[command(after_help = "\
Examples:
  fairway upgrade status
  fairway upgrade status --details=health
  fairway upgrade status --watch --timeout=2h
  fairway upgrade status --from-file=cluster-cv.yaml
  fairway upgrade status -o json | jq '.pendingResources[] | {kind, name, ageSeconds}'")]
    Status(StatusArgs),
}

#[derive(clap::Args)]
pub(crate) struct RollbackArgs {
    /// Say what would come of it, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
}

#[derive(clap::Args)]
pub(crate) struct ChannelArgs {
    /// The channel to choose
    #[arg(value_name = "CHANNEL", value_parser = channel)]
    pub(crate) channel: Option<String>,

    /// Choose it although the running release is not known to be in it
    #[arg(long, requires = "channel")]
    pub(crate) allow_explicit_channel: bool,

    /// Choose none
    #[arg(long, conflicts_with = "channel")]
    pub(crate) clear: bool,

    /// Say what would come of it, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// The name of a channel. An empty one is mostly a variable of a script that is not set.
fn channel(text: &str) -> Result<String, String> {
    match text {
        "" => Err("the name is empty: --clear chooses no channel".to_owned()),
        _ if text.contains(char::is_whitespace) => Err("a name has no blanks".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(clap::Args)]
pub(crate) struct AcceptArgs {
    /// The names of the risks, separated by commas or blanks; a hyphen at the end takes one back
    #[arg(value_name = "RISK", value_delimiter = ',')]
    pub(crate) risks: Vec<RiskChoice>,

    /// Why, for those who ask later
    #[arg(long, value_name = "TEXT", value_parser = reason, conflicts_with = "clear")]
    pub(crate) reason: Option<String>,

    /// Until when: a day, a time, or how long from now, such as 2026-12-31 or 90d
    #[arg(long, value_name = "TIME", conflicts_with = "clear")]
    pub(crate) until: Option<UntilChoice>,

    /// Only for updates to these versions, such as 5.2.1, 5.2.x or '>=5.2.0 <5.4.0'; may be given
    /// several times
    #[arg(long = "for", value_name = "VERSIONS", conflicts_with = "clear")]
    pub(crate) versions: Vec<Range>,

    /// Accept these risks and no others
    #[arg(long, conflicts_with = "clear")]
    pub(crate) replace: bool,

    /// Accept no risks any more
    #[arg(long, conflicts_with = "risks")]
    pub(crate) clear: bool,

    /// Print what is accepted, and on which terms, as a file for `--import`
    #[arg(
        long,
        conflicts_with_all = ["risks", "reason", "until", "versions", "replace", "clear", "dry_run"]
    )]
    pub(crate) export: bool,

    /// Accept what is in such a file, on its terms; what is accepted already and not in it stays.
    /// `-` is standard input
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["risks", "reason", "until", "versions", "clear", "export"]
    )]
    pub(crate) import: Option<PathBuf>,

    /// Say what would come of it, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}
