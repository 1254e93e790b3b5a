//! What the operator says to a request.

use std::fmt;

use fairway_api::cluster_version::Update;
use fairway_api::image::same_content;
use fairway_api::reason::{invalid, progressing, release_accepted};
use fairway_api::{
    ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition,
};
use serde::Serialize;

use super::super::report::text::write_reason;
use super::plan::same_release;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// What the operator says to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Answer {
    pub(super) state: State,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

/// Whether it says yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    /// It works towards the release.
    Accepted,
    /// It does not, and keeps the one before.
    Refused,
    /// It has not said.
    Pending,
    /// Somebody has asked for something else since.
    Replaced,
}

impl Answer {
    /// Before anything was heard.
    pub(super) fn none() -> Self {
        Self { state: State::Pending, reason: None, message: None }
    }

    /// What a ClusterVersion says to the request.
    pub(super) fn of(cluster_version: &ClusterVersion, update: &Update) -> Self {
        let asked = cluster_version.spec.desired_update.as_ref();
        if !asked.is_some_and(|asked| same_release(asked, update) && asked.mode.is_none()) {
            return Self { state: State::Replaced, ..Self::none() };
        }
        let seen = cluster_version.status.as_ref().filter(|status| {
            Some(status.observed_generation) >= cluster_version.metadata.generation
        });
        seen.map_or_else(Self::none, |status| Self::seen(status, update))
    }

    /// What a status says that is about the request.
    fn seen(status: &ClusterVersionStatus, update: &Update) -> Self {
        let find = |type_| status.conditions.find(type_);
        if let Some(accepted) = find(release_accepted::TYPE) {
            match accepted.status {
                ConditionStatus::False => return Self::saying(State::Refused, Some(accepted)),
                ConditionStatus::True => {}
                _ => return Self::saying(State::Pending, Some(accepted)),
            }
        }
        let is_target = match (update.image(), update.version()) {
            (Some(image), _) => same_content(image, &status.desired.image),
            (None, version) => version == Some(&status.desired.version),
        };
        match find(invalid::TYPE).filter(|_| status.conditions.is_true(invalid::TYPE)) {
            _ if is_target => Self::saying(State::Accepted, find(progressing::TYPE)),
            Some(invalid) => Self::saying(State::Refused, Some(invalid)),
            None => Self::none(),
        }
    }

    fn saying(state: State, condition: Option<&OperatorCondition>) -> Self {
        Self {
            state,
            reason: condition.and_then(|condition| condition.reason.clone()),
            message: condition.and_then(|condition| condition.message.clone()),
        }
    }

    /// Whether there is nothing more to wait for.
    pub(super) fn is_final(&self) -> bool {
        self.state != State::Pending
    }

    /// How the command ends.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match self.state {
            State::Accepted => ExitStatus::Yes,
            State::Refused => ExitStatus::No,
            State::Pending => ExitStatus::TimedOut,
            State::Replaced => ExitStatus::CannotTell,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message.as_deref().unwrap_or_default();
        match self.state {
            State::Accepted => write!(f, "The operator has accepted it. {}", OneLine(message)),
            State::Refused => {
                f.write_str("The operator refuses it:\n")?;
                write_reason(f, self.reason.as_deref(), self.message.as_deref())?;
                f.write_str(
                    "\n\nThe request stands, and is looked at again when something changes. \
                     Withdraw it with\n  fairway upgrade --clear",
                )
            }
            State::Pending => {
                f.write_str("The operator has not decided yet")?;
                match message {
                    "" => f.write_str(".")?,
                    message => write!(f, ": {}", OneLine(message))?,
                }
                f.write_str("\nThe request stands; see what comes of it with\n  fairway upgrade")
            }
            State::Replaced => f.write_str("Somebody else has asked for something else since."),
        }
    }
}
