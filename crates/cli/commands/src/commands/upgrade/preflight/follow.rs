//! Waiting for a preflight, with its progress.

use std::ops::ControlFlow;
use std::time::Duration;

use fairway_api::cluster_version::Update;
use fairway_api::reason::preflight_running;
use fairway_api::{ClusterVersion, Conditions as _};
use fairway_insight::PreflightPhase;

use super::super::change::Poll;
use super::super::release::ReleaseReference;
use super::records::PreflightRecords;
use super::report::{PreflightReport, PreflightState};
use super::request::is_same_request;
use crate::cluster::Cluster;
use crate::foreign_text::OneLine;
use crate::printer::Printer;

/// Failed polls in a row, 30 seconds: an API server needs that to restart.
const MAX_FAILURES: usize = 60;

/// Polls for the results after the conditions are complete: the operator writes the ConfigMap less
/// often than the status.
const MAX_POLLS_FOR_DETAILS: usize = 30;

/// Timeout for the operator to observe a spec change, for commands that only read. It takes about a
/// second.
const OBSERVATION_TIMEOUT: Duration = Duration::from_secs(20);

/// ClusterVersion after the operator has observed the requested preflight, or as it is after the
/// timeout. Every spec change, such as an accepted risk, makes the status outdated for a moment.
pub(super) async fn observed(
    cluster: &Cluster,
    printer: &Printer,
) -> anyhow::Result<ClusterVersion> {
    let object = cluster.cluster_version().await?;
    match &object.spec.desired_update {
        Some(update) if PreflightPhase::of(&object) == PreflightPhase::Pending => {
            let (wait_for, timeout) = (WaitFor::Observation, OBSERVATION_TIMEOUT);
            Follow { cluster, printer, update, wait_for, timeout }.poll().await?;
            cluster.cluster_version().await
        }
        _ => Ok(object),
    }
}

/// State of a preflight that the command waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitFor {
    /// The operator has observed the request.
    Observation,
    /// All checks have completed once.
    Completion,
}

/// How waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FollowEnd {
    /// The preflight has reached the state.
    Reached,
    /// The timeout has passed.
    TimedOut,
    /// Another client has changed `spec.desiredUpdate`.
    Superseded,
}

/// Waits for a requested preflight.
pub(super) struct Follow<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) printer: &'a Printer,
    pub(super) update: &'a Update,
    pub(super) wait_for: WaitFor,
    pub(super) timeout: Duration,
}

impl Follow<'_> {
    /// Waits, and prints the progress whenever it changes.
    pub(super) async fn run(&self) -> anyhow::Result<(PreflightReport, FollowEnd)> {
        let end = self.poll().await?;
        let object = self.cluster.cluster_version().await?;
        Ok((self.report(&object).await, end))
    }

    async fn poll(&self) -> anyhow::Result<FollowEnd> {
        let (mut shown, mut polls_for_details) = (String::new(), 0);
        let poll = Poll { timeout: self.timeout, max_failures: MAX_FAILURES };
        let end = poll.run(self.cluster, async |object| {
            let requested = object.spec.desired_update.as_ref();
            if !requested.is_some_and(|requested| is_same_request(requested, self.update)) {
                return ControlFlow::Break(FollowEnd::Superseded);
            }
            let phase = PreflightPhase::of(&object);
            let progress = progress(&object, phase);
            if progress != shown {
                self.printer.note(&progress);
                shown = progress;
            }
            if !self.is_reached(phase) {
                return ControlFlow::Continue(());
            }
            polls_for_details += 1;
            let is_enough =
                self.wait_for == WaitFor::Observation || polls_for_details >= MAX_POLLS_FOR_DETAILS;
            if is_enough || self.report(&object).await.has_details() {
                return ControlFlow::Break(FollowEnd::Reached);
            }
            ControlFlow::Continue(())
        });
        Ok(end.await?.unwrap_or(FollowEnd::TimedOut))
    }

    fn is_reached(&self, phase: PreflightPhase) -> bool {
        match self.wait_for {
            WaitFor::Observation => phase != PreflightPhase::Pending,
            WaitFor::Completion => !phase.is_in_progress(),
        }
    }

    async fn report(&self, object: &ClusterVersion) -> PreflightReport {
        let records = PreflightRecords::read(self.cluster).await;
        let now = fairway_clock::now();
        let state = PreflightState { cluster_version: object, records: &records, now };
        state.report(Some(ReleaseReference::requested(self.update)))
    }
}

/// Progress of a preflight in one line.
fn progress(object: &ClusterVersion, phase: PreflightPhase) -> String {
    if phase == PreflightPhase::Pending {
        return "Waiting for the operator…".to_owned();
    }
    let status = object.status.as_ref();
    let running = status.and_then(|status| status.conditions.find(preflight_running::TYPE));
    let text = running.and_then(|running| running.message.as_deref().or(running.reason.as_deref()));
    OneLine(text.unwrap_or("The preflight is running")).to_string()
}
