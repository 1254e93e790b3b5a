//! Arguments of `fairway upgrade`.

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand, ValueHint};
use fairway_api::Version;
use fairway_risk::VersionRange;

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

    /// Also list updates that are not recommended for this cluster, with their risks
    #[arg(long)]
    pub(crate) include_not_recommended: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) request: RequestArgs,

    #[command(flatten)]
    pub(crate) preflight: PreflightArgs,

    /// Registry access, to read the version of an image.
    #[command(flatten)]
    pub(crate) registry: AccessArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Request for an update, or its withdrawal.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(clap::Args)]
#[command(
    next_help_heading = "Update request",
    group(ArgGroup::new(TARGET).multiple(true))
)]
pub(crate) struct RequestArgs {
    /// Update to this version, one of the listed updates
    ///
    /// With `--to-image`: the expected version of the image.
    #[arg(long, value_name = "VERSION", value_parser = version, group = TARGET)]
    pub(crate) to: Option<String>,

    /// Update to this release image, pinned by digest
    #[arg(long, value_name = "IMAGE", group = TARGET)]
    pub(crate) to_image: Option<PullSpec>,

    /// Update to the latest recommended version
    #[arg(long, group = TARGET, conflicts_with_all = ["to", "to_image"])]
    pub(crate) to_latest: bool,

    /// Switch to the multi-architecture image of the current version
    #[arg(
        long,
        group = TARGET,
        conflicts_with_all = ["to", "to_image", "to_latest", "allow_not_recommended"]
    )]
    pub(crate) to_multi_arch: bool,

    /// Withdraw the requested update; completed updates and accepted risks stay
    // Not the group `TARGET`: its error would list every member, not the argument that was typed.
    #[arg(long, conflicts_with_all = ["to", "to_image", "to_latest", "to_multi_arch"])]
    pub(crate) clear: bool,

    /// Request an update that is not recommended, and accept exactly the risks that are shown
    #[arg(long, requires = TARGET)]
    pub(crate) allow_not_recommended: bool,

    /// Request an image that is not a listed update
    #[arg(long, requires = "to_image")]
    pub(crate) allow_explicit_upgrade: bool,

    /// Request the update although the cluster is failing or already updating, or ClusterVersion is
    /// invalid
    #[arg(long, requires = TARGET)]
    pub(crate) allow_upgrade_with_warnings: bool,

    /// Waive signature verification, preconditions (downgrade, skipped versions) and risks; the
    /// operator records this in the update history
    #[arg(long, requires = TARGET)]
    pub(crate) force: bool,

    /// Confirm without a prompt: downgrade, skipped minor version, pre-release, candidate channel,
    /// image with an unknown version, `--force`
    #[arg(long, short, requires = TARGET)]
    pub(crate) yes: bool,

    /// Run a temporary preflight of the release, report its findings and withdraw it; with
    /// `--clear`, `--clear-preflight` and `--to-multi-arch`: show the result without changing the
    /// cluster
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,
}

/// Argument group of the options that select a release.
pub(super) const TARGET: &str = "target";

impl RequestArgs {
    /// Whether the arguments request or withdraw an update.
    pub(crate) fn is_one(&self) -> bool {
        self.asks() || self.clear
    }

    /// Whether the arguments request an update.
    pub(crate) fn asks(&self) -> bool {
        self.names_a_release() || self.to_multi_arch
    }

    /// Whether the arguments select a release.
    pub(crate) fn names_a_release(&self) -> bool {
        self.to.is_some() || self.to_image.is_some() || self.to_latest
    }
}

pub(super) fn version(text: &str) -> Result<String, String> {
    Version::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

#[derive(Subcommand)]
pub(crate) enum UpgradeCommand {
    /// Accept risks of updates by name, or revoke their acceptance
    ///
    /// Updates become recommended once all their risks are accepted. Accepting a risk neither
    /// starts nor withdraws an update.
    ///
    /// Accepting a risk again replaces the terms of the acceptance: reason, expiry and versions.
    /// `RISK-`, with a trailing hyphen, revokes the acceptance. `--export` and `--import` copy
    /// accepted risks to other clusters.
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

    /// Show, set or clear the channel of the cluster
    ///
    /// Without CHANNEL and `--clear`, the command shows the channel. It sets a channel only if the
    /// channel contains the running release, if the channels of the running release are unknown, or
    /// with `--allow-explicit-channel`. If the cluster has no channel, the operator does not
    /// contact the update service, and no updates are available.
    #[command(after_help = "\
Examples:
  fairway upgrade channel
  fairway upgrade channel stable-5.1
  fairway upgrade channel eus-6.0 --allow-explicit-channel
  fairway upgrade channel --clear
  fairway upgrade channel --from-file=cluster-cv.yaml")]
    Channel(ChannelArgs),

    /// Compare the preflight results of several releases
    ///
    /// The cluster keeps the results of preflights until its version changes. The table has a
    /// column for each release and a row for each finding. `--run` runs missing and incomplete
    /// preflights, and then restores the previous request, even after Ctrl-C.
    ///
    /// The exit code is 3 if a preflight has unaccepted findings, and 4 if the results of a release
    /// are incomplete.
    #[command(after_help = "\
Examples:
  fairway upgrade compare 5.1.0 5.2.0
  fairway upgrade compare 5.1.0 5.2.0 --run --wait=20m
  fairway upgrade compare 5.1.0 5.2.0 -o json | jq '.targets[] | {version: .target.version, result}'")]
    Compare(CompareArgs),

    /// Explain a risk, or why a version is available or not
    ///
    /// For a risk, the output shows its source, its rules, the latest query results with times, the
    /// next evaluation, the affected updates, and its acceptance with terms. For a version, it
    /// shows whether the version is available, its risks, and the reason if it is not available.
    /// Query results come from the ConfigMap `risk-evaluations`, which the operator writes.
    ///
    /// The exit code is 3 if a risk blocks an update, and 4 if that is unknown.
    #[command(after_help = "\
Examples:
  fairway upgrade explain SlowDisks
  fairway upgrade explain 5.2.0
  fairway upgrade explain 5.2.9 --graph=graph.json
  fairway upgrade explain SlowDisks -o json | jq '.risk.definitions[].rules[].evaluation'
  fairway upgrade explain SlowDisks --from-file=cluster-cv.yaml")]
    Explain(ExplainArgs),

    /// Plan the upgrade path to a version
    ///
    /// The command shows the upgrade path with the least risk, and the path with the fewest updates
    /// if it differs. Each hop lists its prerequisites and commands. Risks are evaluated for this
    /// cluster: by the operator, or by the command with the samples of `--metrics`. The command
    /// changes nothing.
    ///
    /// The exit code is 3 if there is no path, or every path has an unaccepted risk, and 4 if that
    /// is unknown.
    #[command(after_help = "\
Examples:
  fairway upgrade plan --to=5.2
  fairway upgrade plan --to=5.2.3 --channel=fast-5.2
  fairway upgrade plan --to=stable-5.2 --graph=graph.json --metrics=samples.txt
  fairway upgrade plan --to=5.2 --from-file=cluster-cv.yaml --graph=https://updates.example/graph
  fairway upgrade plan --to=5.2 -o json | jq -r '.leastRisk.hops[].commands[]'")]
    Plan(PlanArgs),

    /// Show available updates with their issues
    ///
    /// Issues that affect all updates come first: a cluster that is failing or already updating,
    /// and firing alerts. The latest two updates of each minor version follow. The command changes
    /// nothing; to request an update, run `fairway upgrade --to`.
    ///
    /// With `--version`, the exit code is 3 if the update has issues, and 4 if that is unknown.
    /// `--accept` ignores issues for this run and stores no acceptance. Specify issues as listed,
    /// risks by name, or `ConditionalUpdateRisk` for all risks of the update.
    #[command(after_help = "\
Examples:
  fairway upgrade recommend
  fairway upgrade recommend --show-outdated-releases
  fairway upgrade recommend --version=5.1.3
  fairway upgrade recommend --version=5.1.3 --accept=PodDisruptionBudgetAtLimit,SlowDisks
  fairway upgrade recommend --from-file=cluster-cv.yaml -o json | jq '.updates[].version'")]
    Recommend(RecommendArgs),

    /// Roll back to the previous release of the same minor version
    ///
    /// The command requests the previous release. That release must be an earlier patch version of
    /// the same minor version. No update may be in progress; to withdraw one, run `fairway upgrade
    /// --clear`. The operator enforces the same rules.
    #[command(after_help = "\
Examples:
  fairway upgrade rollback --dry-run
  fairway upgrade rollback
  fairway upgrade rollback --wait=1h")]
    Rollback(RollbackArgs),

    /// Show the progress and the health of an update
    ///
    /// The output shows the progress of the control plane and of the node pools, the objects that
    /// the update waits for, health issues, and commands for details. It shows the remaining time
    /// only if the estimate is reliable.
    ///
    /// The exit code is 3 if the update is stalled or the operator refuses the requested release,
    /// and 0 if the update is in progress or no update is running.
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
#[command(mut_arg("wait", |arg| {
    arg.help("Wait until the rollback is complete (default timeout: 3h)")
}))]
pub(crate) struct RollbackArgs {
    /// Show the result without changing the cluster
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
    /// Channel to set
    #[arg(value_name = "CHANNEL", value_parser = channel)]
    pub(crate) channel: Option<String>,

    /// Set the channel even if it is not known to contain the running release
    #[arg(long, requires = "channel")]
    pub(crate) allow_explicit_channel: bool,

    /// Clear the channel
    #[arg(long, conflicts_with = "channel")]
    pub(crate) clear: bool,

    /// Show the result without changing the cluster
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// The name of a channel. An empty name is usually an unset variable of a script.
fn channel(text: &str) -> Result<String, String> {
    match text {
        "" => Err("channel name is empty; to clear the channel, use --clear".to_owned()),
        _ if text.contains(char::is_whitespace) => Err("channel name contains spaces".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[derive(clap::Args)]
pub(crate) struct AcceptArgs {
    /// Names of risks, separated by commas or spaces; a trailing hyphen revokes an acceptance
    #[arg(value_name = "RISK", value_delimiter = ',')]
    pub(crate) risks: Vec<RiskChoice>,

    /// Reason for the acceptance
    #[arg(long, value_name = "TEXT", value_parser = reason, conflicts_with = "clear")]
    pub(crate) reason: Option<String>,

    /// Expiry: a date, a time or a duration, such as 2026-12-31 or 90d
    #[arg(long, value_name = "TIME", conflicts_with = "clear")]
    pub(crate) until: Option<UntilChoice>,

    /// Limit the acceptance to updates to these versions, such as 5.2.1, 5.2.x or '>=5.2.0 <5.4.0';
    /// repeatable
    #[arg(long = "for", value_name = "VERSIONS", conflicts_with = "clear")]
    pub(crate) versions: Vec<VersionRange>,

    /// Accept these risks and revoke all others
    #[arg(long, conflicts_with = "clear")]
    pub(crate) replace: bool,

    /// Revoke all accepted risks
    #[arg(long, conflicts_with = "risks")]
    pub(crate) clear: bool,

    /// Print the accepted risks and their terms as a file for `--import`
    #[arg(
        long,
        conflicts_with_all = ["risks", "reason", "until", "versions", "replace", "clear", "dry_run"]
    )]
    pub(crate) export: bool,

    /// Accept the risks of an exported file with their terms, and keep other accepted risks; `-` is
    /// standard input
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["risks", "reason", "until", "versions", "clear", "export"]
    )]
    pub(crate) import: Option<PathBuf>,

    /// Show the result without changing the cluster
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) output: ReportArgs,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}
