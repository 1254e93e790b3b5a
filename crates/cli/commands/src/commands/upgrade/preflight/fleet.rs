//! Preflights of the clusters of a fleet.

use fairway_api::reason::preflight_running;
use fairway_api::{ClusterVersion, Conditions as _};
use fairway_insight::fleet::{Preflight, PreflightResult};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::release::{ReleaseReference, RequestTarget};
use super::outcome::{Action, PreflightOutcome, PreflightRequestState};
pub(in crate::commands) use super::records::PreflightRecords as Records;
use super::report::{PreflightReport, PreflightState};
use super::request::PreflightRequest;
use super::{PreflightTimeouts, request_preflight};
use crate::args::fleet::FleetPreflightArgs;
use crate::cluster::Cluster;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::printer::Printer;

/// Preflights of releases with a known version.
pub(in crate::commands) fn known(
    cluster_version: &ClusterVersion,
    records: &Records,
    now: Timestamp,
) -> Vec<Preflight> {
    let state = PreflightState { cluster_version, records, now };
    let kept = records.all().map(|document| ReleaseReference {
        version: Some(document.target_version.clone()),
        image: Some(document.target_image.clone()),
    });
    let targets = state.default_target().into_iter().chain(kept);
    targets.filter_map(|target| summary(&state.report(Some(target)))).collect()
}

fn summary(report: &PreflightReport) -> Option<Preflight> {
    let is_blocking = matches!(
        report.result,
        PreflightResult::Findings | PreflightResult::Incomplete | PreflightResult::Stale
    );
    let unaccepted = report.unaccepted().filter(|_| is_blocking);
    Some(Preflight {
        version: report.target.as_ref()?.version.clone()?,
        result: report.result,
        findings: unaccepted.map(|finding| finding.name.clone()).collect(),
        age_seconds: report.run.as_ref().and_then(|run| run.age_seconds),
    })
}

/// Why results are missing, if the operator of the cluster supports preflights.
pub(in crate::commands) fn unread(
    cluster_version: &ClusterVersion,
    records: &Records,
) -> Option<String> {
    let status = cluster_version.status.as_ref()?;
    let is_supported = status.conditions.find(preflight_running::TYPE).is_some();
    records.missing.clone().filter(|_| is_supported)
}

/// Result of a preflight request to one cluster of a fleet.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct FleetPreflightOutcome {
    #[serde(flatten)]
    outcome: PreflightOutcome,
    #[serde(skip)]
    status: ExitStatus,
}

/// Requests a preflight in a cluster, `None` if it already has the version.
pub(in crate::commands) async fn ask(
    cluster: &Cluster,
    args: &FleetPreflightArgs,
    printer: &Printer,
) -> anyhow::Result<Option<FleetPreflightOutcome>> {
    let status = cluster.cluster_version().await?.status;
    if status.is_some_and(|status| status.desired.version == args.to) {
        return Ok(None);
    }
    let target = RequestTarget::Version(args.to.clone());
    let request = PreflightRequest::new(target, false);
    let timeouts = PreflightTimeouts {
        observation: args.timeout,
        completion: args.wait,
        no_wait: args.no_wait,
    };
    let outcome = request_preflight(cluster, &request, timeouts, printer).await?;
    let status = timeouts.exit_status(&outcome);
    Ok(Some(FleetPreflightOutcome { outcome, status }))
}

pub(in crate::commands) use FleetPreflightOutcome as Asked;

impl FleetPreflightOutcome {
    /// Exit status for this cluster alone.
    pub(in crate::commands) fn exit_status(&self) -> ExitStatus {
        self.status
    }

    /// State of the request in a few words.
    pub(in crate::commands) fn request(&self) -> &'static str {
        match (self.outcome.request_state, self.outcome.action) {
            (PreflightRequestState::Superseded, _) => "superseded",
            (PreflightRequestState::Withdrawn, _) => "withdrawn",
            (PreflightRequestState::Active, Action::Requested) => "requested",
            (PreflightRequestState::Active, Action::RequestedAgain) => "repeated",
            (PreflightRequestState::Active, Action::AlreadyRequested) => "already requested",
        }
    }

    /// Result in one line.
    pub(in crate::commands) fn result(&self) -> String {
        let Some(report) = &self.outcome.report else { return "no result (--no-wait)".to_owned() };
        let unaccepted: Vec<&str> =
            report.unaccepted().map(|finding| finding.name.as_str()).collect();
        let names = OneLine(&unaccepted.join(", ")).to_string();
        let names = if names.is_empty() { names } else { format!(": {names}") };
        let late = if self.outcome.timed_out { ", timed out" } else { "" };
        format!("{}{names}{late}", report.headline())
    }
}

/// Outcomes for tests.
#[cfg(test)]
pub(in crate::commands) mod fixtures {
    use fairway_findings::{Document, Severity};

    use super::super::super::fixtures::{cluster_version, condition, hold, now};
    use super::super::fixtures::{document, kept, with_findings};
    use super::super::follow::FollowEnd;
    use super::*;

    /// Without findings.
    pub(in crate::commands) fn clean() -> FleetPreflightOutcome {
        outcome_of(&[document("5.2.0")], FollowEnd::Reached)
    }

    /// With findings.
    pub(in crate::commands) fn found() -> FleetPreflightOutcome {
        let findings = [("DualStack", Severity::Critical), ("OldDriver", Severity::Warning)];
        outcome_of(&[with_findings("5.2.0", &findings)], FollowEnd::Reached)
    }

    /// After a timeout.
    pub(in crate::commands) fn late() -> FleetPreflightOutcome {
        outcome_of(&[], FollowEnd::TimedOut)
    }

    fn outcome_of(documents: &[Document], end: FollowEnd) -> FleetPreflightOutcome {
        let mut object = cluster_version();
        hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
        let target = RequestTarget::Version("5.2.0".to_owned());
        let request = PreflightRequest::new(target, false);
        let decision = super::super::request::decide(&object, &request).unwrap().outcome;
        let outcome = PreflightOutcome::new(decision);
        let records = Records::of(&documents.iter().map(kept).collect::<Vec<_>>());
        let state = PreflightState { cluster_version: &object, records: &records, now: now() };
        let target = ReleaseReference::of_version("5.2.0");
        let outcome = outcome.followed(state.report(Some(target)), end);
        let status = outcome.completion_status();
        FleetPreflightOutcome { outcome, status }
    }
}
