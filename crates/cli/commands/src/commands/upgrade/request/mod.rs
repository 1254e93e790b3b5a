//! `fairway upgrade --to`, `--clear`, `rollback` and similar: requests for updates.
//!
//! | module | content |
//! | --- | --- |
//! | `arguments` | requests of the command line, and their confirmation |
//! | `selection`, `image` | the requested release: a listed update, or an unlisted image |
//! | `decision` | the change of ClusterVersion, or a refusal |
//! | `cautions` | properties of an update that need attention or confirmation |
//! | `unaccepted_risk` | unaccepted risks of an update |
//! | `multi_arch`, `rollback`, `withdrawal` | decisions on other requests |
//! | `outcome` | result of a request |

mod arguments;
pub(super) mod cautions;
mod decision;
mod image;
mod multi_arch;
mod outcome;
mod rollback;
mod selection;
mod unaccepted_risk;
mod withdrawal;

use std::ops::ControlFlow;
use std::time::Duration;

use fairway_api::cluster_version::Update;
use fairway_insight::RequestStatus;

use super::change::{self, Change, Poll};
use super::preflight::requirement::PreflightRequirement;
use crate::args::cluster::ClusterArgs;
use crate::args::registry::AccessArgs;
use crate::args::report::ReportArgs;
use crate::args::upgrade::{RollbackArgs, UpgradeArgs};
use crate::args::waiting::WaitingArgs;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use arguments::{Confirmation, ReleaseRequest, UpdateRequest};
pub(super) use outcome::UpdateOutcome;

impl TypedReport for UpdateOutcome {
    const KIND: &'static str = "UpgradeRequest";
}

/// Failed polls in a row, 5 minutes. While a single-node control plane updates, its API server is
/// unavailable for minutes.
const MAX_FAILURES: usize = 600;

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let command = RequestCommand {
        printer,
        cluster: &args.source.cluster,
        registry: Some(&args.registry),
        waiting: &args.request.waiting,
        output: &args.output,
        dry_run: args.request.dry_run,
        yes: args.request.yes,
        require_preflight: args.preflight.require_preflight,
    };
    command.run(UpdateRequest::of(&args.request)?)
}

/// Runs `fairway upgrade rollback`. The command names the downgrade, so it needs no confirmation.
pub(super) fn roll_back(args: &RollbackArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let command = RequestCommand {
        printer,
        cluster: &args.cluster,
        registry: None,
        waiting: &args.waiting,
        output: &args.output,
        dry_run: args.dry_run,
        yes: true,
        require_preflight: None,
    };
    command.run(UpdateRequest::Rollback)
}

/// Options of a request command.
struct RequestCommand<'a> {
    printer: &'a Printer,
    cluster: &'a ClusterArgs,
    registry: Option<&'a AccessArgs>,
    waiting: &'a WaitingArgs,
    output: &'a ReportArgs,
    dry_run: bool,
    yes: bool,
    require_preflight: Option<Duration>,
}

/// State of a request that the command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitFor {
    /// The operator has accepted or refused the release.
    Decision,
    /// The update is complete, or the operator refuses it.
    Completion,
}

impl RequestCommand<'_> {
    fn run(&self, mut request: UpdateRequest) -> anyhow::Result<ExitStatus> {
        let outcome = block_on(async {
            let cluster = Cluster::connect(self.cluster).await?;
            if let UpdateRequest::Release(request) = &mut request {
                self.complete(&cluster, request).await?;
            }
            let change = self.apply(&cluster, &request).await?;
            self.follow(&cluster, change).await
        })?;
        output::report(self.printer.stdout(), self.output.output, &outcome)?;
        Ok(outcome.exit_status())
    }

    /// Adds the user and the metadata of an unlisted image, if they are needed.
    async fn complete(
        &self,
        cluster: &Cluster,
        request: &mut ReleaseRequest,
    ) -> anyhow::Result<()> {
        if request.allow_not_recommended {
            request.user = cluster.user().await;
        }
        let (Some(image), Some(access)) = (request.unknown_image(), self.registry) else {
            return Ok(());
        };
        let status = cluster.cluster_version().await?.status.unwrap_or_default();
        if !selection::is_listed(&status, image) {
            let metadata = image::read_metadata(image, access, self.cluster.request_timeout).await;
            request.image_metadata = Some(metadata.map(Box::new));
        }
        Ok(())
    }

    /// Decides on the change, asks for confirmation and stores it.
    async fn apply(
        &self,
        cluster: &Cluster,
        request: &UpdateRequest,
    ) -> anyhow::Result<Change<UpdateOutcome>> {
        let now = fairway_clock::now();
        let requirement = match self.require_preflight {
            Some(max_age) => {
                Some(PreflightRequirement::read(cluster, self.printer, max_age).await?)
            }
            None => None,
        };
        let confirmation = Confirmation::new(self.printer, self.yes || self.dry_run);
        let decide = |object: &_| {
            let change = decision::decide(object, request, now)?;
            if let Some(requirement) = &requirement {
                requirement.check(object, &change.outcome.update, now)?;
            }
            if change.patch.is_some() {
                confirmation.obtain(&change.outcome)?;
            }
            anyhow::Ok(change)
        };
        let change = change::apply(cluster, self.dry_run, decide).await?.change;
        self.printer.warnings(&confirmation.warnings(&change.outcome));
        Ok(change)
    }

    /// Waits for the operator, as long as the arguments say.
    async fn follow(
        &self,
        cluster: &Cluster,
        change: Change<UpdateOutcome>,
    ) -> anyhow::Result<UpdateOutcome> {
        let dry_run = self.dry_run && change.patch.is_some();
        let outcome = change.outcome;
        let (wait_for, timeout) = match self.waiting.for_update() {
            Some(timeout) => (WaitFor::Completion, timeout),
            None => (WaitFor::Decision, self.waiting.timeout),
        };
        let has_status = outcome.needs_decision()
            || (wait_for == WaitFor::Completion
                && outcome.is_in_progress()
                && outcome.update.names_a_release());
        if dry_run || self.waiting.no_wait || !has_status {
            return Ok(UpdateOutcome { dry_run, ..outcome });
        }
        if wait_for == WaitFor::Decision {
            self.printer.note("Waiting for the operator…");
        }
        let (status, timed_out) = self.poll(cluster, &outcome.update, wait_for, timeout).await?;
        Ok(UpdateOutcome { status: Some(status), timed_out, ..outcome })
    }

    /// Polls the status of a request; returns the latest one, and whether the timeout has passed.
    async fn poll(
        &self,
        cluster: &Cluster,
        update: &Update,
        wait_for: WaitFor,
        timeout: Duration,
    ) -> anyhow::Result<(RequestStatus, bool)> {
        let (mut latest, mut shown) = (RequestStatus::pending(), String::new());
        let poll = Poll { timeout, max_failures: MAX_FAILURES };
        let reached = poll
            .run(cluster, async |object| {
                latest = RequestStatus::of(&object, update);
                let progress = outcome::progress(&latest);
                if wait_for == WaitFor::Completion && progress != shown {
                    self.printer.note(&progress);
                    shown = progress;
                }
                let is_over = match wait_for {
                    WaitFor::Decision => latest.is_decided(),
                    WaitFor::Completion => latest.is_final(),
                };
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .await?;
        Ok((latest, reached.is_none()))
    }
}

#[cfg(test)]
mod tests;
