//! What came of asking for a preflight, for people and for programs.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::super::request::outcome::Named;
use super::follow::Ended;
use super::phase::Phase;
use super::report::text::ENDING;
use super::report::{Report, Verdict};
use super::request::{Plan, Replaced};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::schema::{self, Shape};

/// What documents of it are called.
pub(super) const KIND: &str = "PreflightRequest";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<Outcome>(KIND)
}

/// Result of a preflight request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::commands) struct Outcome {
    /// Whether the command withdraws the request after the preflight.
    pub(super) dry_run: bool,
    /// What the command did.
    pub(super) action: Action,
    /// Target release.
    pub(super) target: Named,
    /// Request that this one replaces.
    pub(super) replaced_request: Option<Replaced>,
    /// Whether the command stopped waiting before the preflight completed.
    pub(super) timed_out: bool,
    /// Results so far, `null` if the command did not wait for them.
    pub(super) report: Option<Report>,
    /// State of the request.
    pub(super) request_state: RequestState,
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
pub(super) enum RequestState {
    /// `spec.desiredUpdate` has the request.
    Active,
    /// The command has withdrawn the request.
    Withdrawn,
    /// Another client has changed `spec.desiredUpdate`.
    Superseded,
}

impl Outcome {
    /// What a plan comes to that was carried out.
    pub(super) fn of(plan: Plan) -> Self {
        let asked = plan.is_asked_already();
        Self {
            dry_run: false,
            action: if asked { Action::AlreadyRequested } else { Action::Requested },
            target: plan.target,
            replaced_request: plan.replaces,
            timed_out: false,
            report: None,
            request_state: RequestState::Active,
            warnings: plan.warnings,
        }
    }

    /// The same, with how waiting for it ended.
    pub(super) fn followed(self, report: Report, ended: Ended) -> Self {
        let request_state =
            if ended == Ended::Replaced { RequestState::Superseded } else { self.request_state };
        let timed_out = ended == Ended::TooLate;
        Self { timed_out, request_state, report: Some(report), ..self }
    }

    /// The same, without what holds only for a request that stands.
    pub(super) fn withdrawn(self) -> Self {
        let is_withdrawn = self.request_state == RequestState::Withdrawn;
        let report = |report: Report| if is_withdrawn { report.withdrawn() } else { report };
        Self { report: self.report.map(report), ..self }
    }

    /// How the command ends that has waited for the whole of it.
    pub(super) fn exit_status_of_all(&self) -> ExitStatus {
        match &self.report {
            _ if self.request_state == RequestState::Superseded => ExitStatus::Unknown,
            _ if self.timed_out => ExitStatus::TimedOut,
            Some(report) => report.exit_status(),
            None => ExitStatus::Success,
        }
    }

    /// How the command ends that has only waited until the operator had seen it.
    pub(super) fn exit_status_of_the_request(&self) -> ExitStatus {
        match &self.report {
            Some(report) if matches!(report.phase, Phase::Held | Phase::Stopped) => {
                ExitStatus::Unknown
            }
            _ if self.request_state == RequestState::Superseded => ExitStatus::Unknown,
            _ if self.timed_out => ExitStatus::TimedOut,
            _ => ExitStatus::Success,
        }
    }
}

impl fmt::Display for Outcome {
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
                "\n\nShow its progress with\n  fairway upgrade --status-preflight\n\n{ENDING}"
            )?,
        }
        match self.request_state {
            RequestState::Active
                if self.timed_out && self.report.as_ref().is_none_or(is_running) =>
            {
                f.write_str("\n\nTimed out waiting for the result; the request remains.")
            }
            RequestState::Withdrawn if self.timed_out => {
                f.write_str("\n\nTimed out waiting for the result; the request is withdrawn.")
            }
            RequestState::Superseded => {
                f.write_str("\n\nSuperseded: another client changed spec.desiredUpdate.")
            }
            RequestState::Active | RequestState::Withdrawn => Ok(()),
        }
    }
}

fn is_running(report: &Report) -> bool {
    report.result == Verdict::Running
}
