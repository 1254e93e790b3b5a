//! Temporary preflight requests of `upgrade --dry-run`: the command withdraws its request after
//! waiting, and restores the previous one.

use std::time::Duration;

use fairway_api::cluster_version::Update;

use super::super::change;
use super::follow::{Follow, WaitFor};
use super::outcome::{PreflightOutcome, PreflightRequestState};
use super::request::{PreflightRequest, submit};
use super::withdrawal;
use crate::cluster::Cluster;
use crate::commands::stop_signals::StopSignals;
use crate::errors::{HintExt as _, WithHint};
use crate::printer::Printer;

/// Guard for preflights that replace the request in `spec.desiredUpdate` temporarily.
///
/// [`TemporaryPreflight::restore`] sets the previous request again. The caller runs it after success,
/// failure and signals: from [`TemporaryPreflight::new`] on, SIGINT and SIGTERM only end waiting.
pub(super) struct TemporaryPreflight<'a> {
    cluster: &'a Cluster,
    printer: &'a Printer,
    keep_results: bool,
    signals: StopSignals,
    /// Own request, and the request before the first own one.
    requests: Option<(Update, Option<Update>)>,
}

impl<'a> TemporaryPreflight<'a> {
    pub(super) fn new(
        cluster: &'a Cluster,
        printer: &'a Printer,
        keep_results: bool,
    ) -> anyhow::Result<Self> {
        Ok(Self { cluster, printer, keep_results, signals: StopSignals::new()?, requests: None })
    }

    /// Runs one preflight until it is complete, or until the timeout.
    pub(super) async fn run(
        &mut self,
        request: &PreflightRequest,
        timeout: Duration,
    ) -> anyhow::Result<PreflightOutcome> {
        let decision = submit(self.cluster, request).await?;
        if !decision.is_requested {
            let previous = match self.requests.take() {
                Some((_, previous)) => previous,
                None => decision.previous.clone(),
            };
            self.requests = Some((decision.update.clone(), previous));
        }
        self.printer.warnings(&decision.warnings);
        let update = decision.update.clone();
        let follow = Follow {
            cluster: self.cluster,
            printer: self.printer,
            update: &update,
            wait_for: WaitFor::Completion,
            timeout,
        };
        // A signal drops the poll in flight, which only reads. The caller then restores the request.
        let (report, end) = tokio::select! {
            followed = follow.run() => followed?,
            () = self.signals.recv() => return Err(interrupted()),
        };
        let outcome = PreflightOutcome::new(decision).followed(report, end);
        Ok(PreflightOutcome { dry_run: true, ..outcome })
    }

    /// Withdraws the own request and restores the previous one; returns the state of the request.
    pub(super) async fn restore(self) -> anyhow::Result<PreflightRequestState> {
        let Some((own, previous)) = &self.requests else {
            return Ok(PreflightRequestState::Active);
        };
        let decide =
            |object: &_| withdrawal::restore(object, own, previous.as_ref(), self.keep_results);
        let applied = change::apply(self.cluster, false, decide).await.with_hint(
            "cannot withdraw the preflight request",
            "withdraw it with `fairway upgrade --clear-preflight`",
        )?;
        Ok(if applied.change.patch.is_some() {
            PreflightRequestState::Withdrawn
        } else {
            PreflightRequestState::Superseded
        })
    }
}

fn interrupted() -> anyhow::Error {
    WithHint::new(
        "interrupted before the preflight completed",
        "its request is withdrawn; run the same command again",
    )
    .into()
}
