//! Result of a preflight request.

use std::fmt;

use fairway_insight::PreflightPhase;
use fairway_insight::fleet::PreflightResult;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::release::ReleaseReference;
use super::follow::FollowEnd;
use super::report::PreflightReport;
use super::report::text::CLEAR_HINT;
use super::request::{PreflightDecision, ReplacedRequest};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::TypedReport;

impl TypedReport for PreflightOutcome {
    const KIND: &'static str = "PreflightRequest";
}

/// Result of a preflight request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::commands) struct PreflightOutcome {
    /// Whether the command withdraws the request after the preflight.
    pub(super) dry_run: bool,
    /// What the command did.
    pub(super) action: Action,
    /// Target release.
    pub(super) target: ReleaseReference,
    /// Request that this one replaces.
    pub(super) replaced_request: Option<ReplacedRequest>,
    /// Whether the command stopped waiting before the preflight completed.
    pub(super) timed_out: bool,
    /// Results so far, `null` if the command did not wait for them.
    pub(super) report: Option<PreflightReport>,
    /// State of the request.
    pub(super) request_state: PreflightRequestState,
    /// Probable mistakes in the arguments.
    pub(super) warnings: Vec<String>,
}

/// What the command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// Requested the preflight.
    Requested,
    /// Requested the same preflight again.
    RequestedAgain,
    /// Nothing: the preflight was already requested.
    AlreadyRequested,
}

/// State of a preflight request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum PreflightRequestState {
    /// `spec.desiredUpdate` contains the request.
    Active,
    /// The command has withdrawn the request.
    Withdrawn,
    /// Another client has changed `spec.desiredUpdate`.
    Superseded,
}

impl PreflightOutcome {
    /// Outcome of a stored request.
    pub(super) fn new(decision: PreflightDecision) -> Self {
        let is_requested = decision.is_requested;
        Self {
            dry_run: false,
            action: if is_requested { Action::AlreadyRequested } else { Action::Requested },
            target: decision.target,
            replaced_request: decision.replaced,
            timed_out: false,
            report: None,
            request_state: PreflightRequestState::Active,
            warnings: decision.warnings,
        }
    }

    /// Adds the report, and why waiting ended.
    pub(super) fn followed(self, report: PreflightReport, end: FollowEnd) -> Self {
        let request_state = if end == FollowEnd::Superseded {
            PreflightRequestState::Superseded
        } else {
            self.request_state
        };
        let timed_out = end == FollowEnd::TimedOut;
        Self { timed_out, request_state, report: Some(report), ..self }
    }

    /// Adapts the report to a withdrawn request.
    pub(super) fn withdrawn(self) -> Self {
        let is_withdrawn = self.request_state == PreflightRequestState::Withdrawn;
        let report =
            |report: PreflightReport| if is_withdrawn { report.withdrawn() } else { report };
        Self { report: self.report.map(report), ..self }
    }

    /// Exit status of a command that waits for completion.
    pub(super) fn completion_status(&self) -> ExitStatus {
        match &self.report {
            _ if self.request_state == PreflightRequestState::Superseded => ExitStatus::Unknown,
            _ if self.timed_out => ExitStatus::TimedOut,
            Some(report) => report.exit_status(),
            None => ExitStatus::Success,
        }
    }

    /// Exit status of a command that waits only for the operator to observe the request.
    pub(super) fn observation_status(&self) -> ExitStatus {
        match &self.report {
            Some(report)
                if matches!(report.phase, PreflightPhase::Held | PreflightPhase::Stopped) =>
            {
                ExitStatus::Unknown
            }
            _ if self.request_state == PreflightRequestState::Superseded => ExitStatus::Unknown,
            _ if self.timed_out => ExitStatus::TimedOut,
            _ => ExitStatus::Success,
        }
    }
}

impl fmt::Display for PreflightOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = OneLine(self.target.name());
        match (self.action, self.dry_run) {
            (Action::Requested, false) => write!(f, "Requested a preflight of {target}")?,
            (Action::Requested, true) => write!(f, "Ran a preflight of {target}")?,
            (Action::RequestedAgain, _) => {
                write!(f, "Requested a preflight of {target} again")?;
            }
            (Action::AlreadyRequested, _) if self.report.as_ref().is_some_and(is_running) => {
                write!(f, "A preflight of {target} is already running")?;
            }
            (Action::AlreadyRequested, _) => {
                write!(f, "A preflight of {target} is already requested")?;
            }
        }
        match &self.report {
            Some(report) => write!(f, "\n\n{report}")?,
            None => write!(
                f,
                "\n\nShow its progress with\n  fairway upgrade --status-preflight\n\n{CLEAR_HINT}"
            )?,
        }
        match self.request_state {
            PreflightRequestState::Active
                if self.timed_out && self.report.as_ref().is_none_or(is_running) =>
            {
                f.write_str("\n\nTimed out waiting for the result; the request remains.")
            }
            PreflightRequestState::Withdrawn if self.timed_out => {
                f.write_str("\n\nTimed out waiting for the result; the request is withdrawn.")
            }
            PreflightRequestState::Superseded => {
                f.write_str("\n\nSuperseded: another client changed spec.desiredUpdate.")
            }
            PreflightRequestState::Active | PreflightRequestState::Withdrawn => Ok(()),
        }
    }
}

fn is_running(report: &PreflightReport) -> bool {
    report.result == PreflightResult::Running
}
