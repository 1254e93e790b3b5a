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

/// What came of asking for a preflight.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::commands) struct Outcome {
    /// Whether the request was made for a while only.
    pub(super) dry_run: bool,
    pub(super) action: Action,
    pub(super) target: Named,
    /// The request that gave way.
    pub(super) replaces: Option<Replaced>,
    /// Whether it took longer than anybody waited.
    pub(super) timed_out: bool,
    /// What is known by now; nothing where that was not waited for.
    pub(super) report: Option<Report>,
    /// What became of the request.
    pub(super) request: Fate,
    /// What may not be what was meant.
    pub(super) warnings: Vec<String>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// It was asked for.
    Requested,
    /// It was asked for once more.
    RequestedAgain,
    /// It was asked for before.
    AlreadyRequested,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Fate {
    /// It stands.
    Stands,
    /// It was withdrawn.
    Withdrawn,
    /// Somebody has asked for something else since.
    Replaced,
}

impl Outcome {
    /// What a plan comes to that was carried out.
    pub(super) fn of(plan: Plan) -> Self {
        let asked = plan.is_asked_already();
        Self {
            dry_run: false,
            action: if asked { Action::AlreadyRequested } else { Action::Requested },
            target: plan.target,
            replaces: plan.replaces,
            timed_out: false,
            report: None,
            request: Fate::Stands,
            warnings: plan.warnings,
        }
    }

    /// The same, with how waiting for it ended.
    pub(super) fn followed(self, report: Report, ended: Ended) -> Self {
        let request = if ended == Ended::Replaced { Fate::Replaced } else { self.request };
        let timed_out = ended == Ended::TooLate;
        Self { timed_out, request, report: Some(report), ..self }
    }

    /// The same, without what holds only for a request that stands.
    pub(super) fn withdrawn(self) -> Self {
        let is_withdrawn = self.request == Fate::Withdrawn;
        let report = |report: Report| if is_withdrawn { report.withdrawn() } else { report };
        Self { report: self.report.map(report), ..self }
    }

    /// How the command ends that has waited for the whole of it.
    pub(super) fn exit_status_of_all(&self) -> ExitStatus {
        match &self.report {
            _ if self.request == Fate::Replaced => ExitStatus::CannotTell,
            _ if self.timed_out => ExitStatus::TimedOut,
            Some(report) => report.exit_status(),
            None => ExitStatus::Yes,
        }
    }

    /// How the command ends that has only waited until the operator had seen it.
    pub(super) fn exit_status_of_the_request(&self) -> ExitStatus {
        match &self.report {
            Some(report) if matches!(report.phase, Phase::Held | Phase::Stopped) => {
                ExitStatus::CannotTell
            }
            _ if self.request == Fate::Replaced => ExitStatus::CannotTell,
            _ if self.timed_out => ExitStatus::TimedOut,
            _ => ExitStatus::Yes,
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
        match self.request {
            Fate::Stands if self.timed_out && self.report.as_ref().is_none_or(is_running) => {
                f.write_str("\n\nTimed out waiting for the result; the request remains.")
            }
            Fate::Withdrawn if self.timed_out => {
                f.write_str("\n\nTimed out waiting for the result; the request is withdrawn.")
            }
            Fate::Replaced => {
                f.write_str("\n\nSuperseded: another client changed spec.desiredUpdate.")
            }
            Fate::Stands | Fate::Withdrawn => Ok(()),
        }
    }
}

fn is_running(report: &Report) -> bool {
    report.result == Verdict::Running
}
