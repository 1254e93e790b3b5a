//! Preflights: `fairway upgrade --mode=preflight`, `--dry-run`, `--status-preflight`,
//! `--clear-preflight` and `compare`.
//!
//! | module | content |
//! | --- | --- |
//! | `request`, `outcome` | preflight requests and their result |
//! | `follow` | wait for a preflight, with its progress |
//! | `report` | report on the preflight of a release |
//! | `records` | results in `ConfigMaps` |
//! | `compare` | results of several releases, side by side |
//! | `requirement` | `--require-preflight` |
//! | `temporary` | preflights that exist only while the command waits |
//! | `withdrawal` | withdrawal of requests |
//! | `fleet` | preflights of the clusters of a fleet |

pub(super) mod compare;
#[cfg(test)]
mod fixtures;
pub(in crate::commands) mod fleet;
mod follow;
mod outcome;
mod records;
mod report;
mod request;
pub(super) mod requirement;
mod temporary;
mod withdrawal;

use std::time::Duration;

use super::change::{self, Change};
use super::release::RequestTarget;
use crate::args::upgrade::UpgradeArgs;
use crate::args::upgrade_preflight::PreflightAction;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;
use follow::{Follow, WaitFor};
use outcome::{Action, PreflightOutcome, PreflightRequestState};
use records::PreflightRecords;
use report::{PreflightReport, PreflightState};
use request::{PreflightRequest, submit, submit_again};
use temporary::TemporaryPreflight;
use withdrawal::PreflightWithdrawal;

pub(in crate::commands) use fleet as of_a_fleet;
pub(super) use withdrawal::update_in_progress;

/// Schemas of the documents.
pub(super) fn shapes() -> [Shape; 4] {
    [
        schema::of::<PreflightWithdrawal>(),
        schema::of::<compare::Comparison>(),
        schema::of::<PreflightOutcome>(),
        schema::of::<PreflightReport>(),
    ]
}

pub(super) fn run(
    action: PreflightAction,
    args: &UpgradeArgs,
    printer: &Printer,
) -> anyhow::Result<ExitStatus> {
    match action {
        PreflightAction::Request => run_request(args, printer),
        PreflightAction::DryRun => run_temporary(args, printer),
        PreflightAction::Status => run_status(args, printer),
        PreflightAction::Clear => run_clear(args, printer),
    }
}

/// `--mode=preflight`: requests a preflight.
fn run_request(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let request = PreflightRequest::of(&args.request, &args.preflight, false)?;
    let waiting = &args.request.waiting;
    let timeouts = PreflightTimeouts {
        observation: waiting.timeout,
        completion: waiting.for_preflight(),
        no_wait: waiting.no_wait,
    };
    let outcome = block_on(async {
        let cluster = Cluster::connect(&args.source.cluster).await?;
        request_preflight(&cluster, &request, timeouts, printer).await
    })?;
    output::report(printer.stdout(), args.output.output, &outcome)?;
    Ok(timeouts.exit_status(&outcome))
}

/// `--to … --dry-run`: runs a preflight and withdraws its request.
fn run_temporary(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let request = PreflightRequest::of(&args.request, &args.preflight, true)?;
    let outcome = block_on(async {
        let cluster = Cluster::connect(&args.source.cluster).await?;
        let mut preflight =
            TemporaryPreflight::new(&cluster, printer, args.preflight.keep_results)?;
        let outcome = preflight.run(&request, args.request.waiting.for_dry_run()).await;
        let restored = preflight.restore().await;
        let outcome = outcome?;
        let request_state = match outcome.request_state {
            PreflightRequestState::Superseded => PreflightRequestState::Superseded,
            _ => restored?,
        };
        anyhow::Ok(PreflightOutcome { request_state, ..outcome }.withdrawn())
    })?;
    output::report(printer.stdout(), args.output.output, &outcome)?;
    Ok(outcome.completion_status())
}

/// `--status-preflight`: reports the results so far.
fn run_status(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let target = RequestTarget::of(&args.request)?.and_then(RequestTarget::reference);
    let (object, records, observation) = block_on(async {
        let source = Source::open(&args.source).await?;
        let object = match &source {
            Source::Live(cluster) => follow::observed(cluster, printer).await?,
            Source::Recorded(_) => source.cluster_version().await?,
        };
        let records = PreflightRecords::of_source(&source).await;
        let observation = source.observation_time_of(&object).await?;
        Ok((object, records, observation))
    })?;
    let state =
        PreflightState { cluster_version: &object, records: &records, now: observation.now() };
    let report = state.report(target.or_else(|| state.default_target()));
    output::report(printer.stdout(), args.output.output, &report)?;
    Ok(report.exit_status())
}

/// `--clear-preflight`: withdraws the request.
fn run_clear(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (keep_results, dry_run) = (args.preflight.keep_results, args.request.dry_run);
    let applied = block_on(async {
        let cluster = Cluster::connect(&args.source.cluster).await?;
        change::apply(&cluster, dry_run, |object| withdrawal::clear(object, keep_results)).await
    })?;
    let Change { patch, mut outcome, .. } = applied.change;
    outcome.dry_run = dry_run && patch.is_some();
    output::report(printer.stdout(), args.output.output, &outcome)?;
    Ok(ExitStatus::Success)
}

/// Timeouts after a preflight request.
#[derive(Clone, Copy, Debug)]
struct PreflightTimeouts {
    /// For the operator to observe the request.
    observation: Duration,
    /// For all checks to complete once, if the command waits for that.
    completion: Option<Duration>,
    /// Whether the command does not wait at all.
    no_wait: bool,
}

impl PreflightTimeouts {
    fn exit_status(self, outcome: &PreflightOutcome) -> ExitStatus {
        match self.completion {
            Some(_) => outcome.completion_status(),
            None => outcome.observation_status(),
        }
    }
}

/// Requests a preflight of a cluster; again, if it is already requested and its run is over.
async fn request_preflight(
    cluster: &Cluster,
    request: &PreflightRequest,
    timeouts: PreflightTimeouts,
    printer: &Printer,
) -> anyhow::Result<PreflightOutcome> {
    let mut decision = submit(cluster, request).await?;
    let is_repeated = decision.is_finished;
    if is_repeated {
        decision = submit_again(cluster, request, &decision.update, timeouts.observation).await?;
    }
    printer.warnings(&decision.warnings);
    let update = decision.update.clone();
    let mut outcome = PreflightOutcome::new(decision);
    if is_repeated {
        outcome.action = Action::RequestedAgain;
    }
    if timeouts.no_wait {
        return Ok(outcome);
    }
    let (wait_for, timeout) = match timeouts.completion {
        Some(timeout) => (WaitFor::Completion, timeout),
        None => (WaitFor::Observation, timeouts.observation),
    };
    let follow = Follow { cluster, printer, update: &update, wait_for, timeout };
    let (report, end) = follow.run().await?;
    Ok(outcome.followed(report, end))
}

#[cfg(test)]
mod tests;
