//! Preflights that are asked for only while somebody waits: afterwards, what was asked for before is
//! asked for again. That holds for every way to end, Ctrl-C among them.

use std::time::Duration;

use anyhow::Context as _;
use fairway_api::cluster_version::Update;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::super::change;
use super::follow::{Until, Wait};
use super::outcome::{Outcome, RequestState};
use super::request::Wish;
use super::{withdrawal, write};
use crate::cluster::Cluster;
use crate::errors::WithHint;
use crate::printer::Printer;

/// Preflights that are asked for for a while.
pub(super) struct Errand<'a> {
    cluster: &'a Cluster,
    printer: &'a Printer,
    keep_results: bool,
    signals: [Signal; 2],
    /// The request that was made, and what was asked for before the first one.
    made: Option<(Update, Option<Update>)>,
}

impl<'a> Errand<'a> {
    /// From here on, a signal ends nothing but waiting.
    pub(super) fn begin(
        cluster: &'a Cluster,
        printer: &'a Printer,
        keep_results: bool,
    ) -> anyhow::Result<Self> {
        let signals = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
        Ok(Self { cluster, printer, keep_results, signals, made: None })
    }

    /// Runs one preflight to its end, or for as long as there is patience.
    pub(super) async fn run(&mut self, wish: &Wish, patience: Duration) -> anyhow::Result<Outcome> {
        let plan = write::request(self.cluster, wish).await?;
        if !plan.is_asked_already() {
            let before = self.made.take().map_or_else(|| plan.before.clone(), |(_, before)| before);
            self.made = Some((plan.update.clone(), before));
        }
        self.printer.warnings(&plan.warnings);
        let update = plan.update.clone();
        let wait = Wait {
            cluster: self.cluster,
            printer: self.printer,
            update: &update,
            until: Until::Done,
            patience,
        };
        let [interrupt, terminate] = &mut self.signals;
        let (report, ended) = tokio::select! {
            followed = wait.follow() => followed?,
            _ = interrupt.recv() => return Err(interrupted()),
            _ = terminate.recv() => return Err(interrupted()),
        };
        Ok(Outcome { dry_run: true, ..Outcome::of(plan).followed(report, ended) })
    }

    /// Withdraws what was asked for, and nothing else; what became of the request.
    pub(super) async fn end(self) -> anyhow::Result<RequestState> {
        let Some((ours, before)) = &self.made else { return Ok(RequestState::Active) };
        let plan = |object: &_| {
            withdrawal::Plan::give_back(object, ours, before.as_ref(), self.keep_results)
        };
        let plan = change::make(self.cluster, false, plan).await.with_context(|| WithHint {
            message: "cannot withdraw the preflight request".to_owned(),
            hint: "withdraw it with `fairway upgrade --clear-preflight`".to_owned(),
        })?;
        Ok(if plan.changes_something() {
            RequestState::Withdrawn
        } else {
            RequestState::Superseded
        })
    }
}

/// Whether somebody else has taken over, so that nothing more may be asked for.
pub(super) fn is_over(outcome: &Outcome) -> bool {
    outcome.request_state == RequestState::Superseded
}

fn interrupted() -> anyhow::Error {
    WithHint {
        message: "interrupted before the preflight completed".to_owned(),
        hint: "its request is withdrawn; run the same command again".to_owned(),
    }
    .into()
}
