//! What the operator says to a request, and how far it is with it.

use std::fmt;

use fairway_api::cluster_version::{Architecture, Update, UpdateState};
use fairway_api::image::same_content;
use fairway_api::reason::{invalid, progressing, release_accepted};
use fairway_api::{
    ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _, OperatorCondition,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::report::text::write_reason;
use super::plan::same_release;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// Status of an update request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct RequestStatus {
    /// State of the request.
    pub(super) state: State,
    /// Reason of the condition that the state is from.
    pub(super) reason: Option<String>,
    /// Message of the condition.
    pub(super) message: Option<String>,
}

/// State of an update request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    /// The operator has not decided; it may wait for the signature of the release.
    Pending,
    /// The operator refuses the release and keeps the previous one.
    Refused,
    /// The operator has accepted the release and not started its rollout.
    Accepted,
    /// The rollout is in progress.
    Started,
    /// The rollout is complete.
    Completed,
    /// Another client has changed `spec.desiredUpdate`.
    Superseded,
}

impl RequestStatus {
    /// Before anything was heard.
    pub(super) fn none() -> Self {
        Self { state: State::Pending, reason: None, message: None }
    }

    /// What a ClusterVersion says to the request.
    pub(super) fn of(cluster_version: &ClusterVersion, update: &Update) -> Self {
        let asked = cluster_version.spec.desired_update.as_ref();
        if !asked.is_some_and(|asked| same_release(asked, update) && asked.mode.is_none()) {
            return Self { state: State::Superseded, ..Self::none() };
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
        match find(invalid::TYPE).filter(|_| status.conditions.is_true(invalid::TYPE)) {
            _ if is_target(status, update) => {
                Self::saying(reached(status), find(progressing::TYPE))
            }
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

    /// Whether the operator has said yes or no, or will not be asked any more.
    pub(super) fn is_one(&self) -> bool {
        self.state != State::Pending
    }

    /// Whether nothing more will come of the request by itself.
    pub(super) fn is_the_last(&self) -> bool {
        matches!(self.state, State::Refused | State::Completed | State::Superseded)
    }

    /// How far it is, in one line.
    pub(super) fn progress(&self) -> String {
        let said = self.message.as_deref().unwrap_or_default();
        let said = OneLine(said).to_string();
        match self.state {
            State::Pending if said.is_empty() => "Waiting for the operator…".to_owned(),
            State::Pending => format!("Requested, not accepted yet: {said}"),
            State::Accepted => format!("Accepted, not started yet: {said}"),
            _ => said,
        }
    }

    /// How the command ends.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match self.state {
            State::Accepted | State::Started | State::Completed => ExitStatus::Success,
            State::Refused => ExitStatus::Refused,
            State::Pending => ExitStatus::TimedOut,
            State::Superseded => ExitStatus::Unknown,
        }
    }
}

/// Whether the release that is asked for is the one that the operator has accepted last.
fn is_target(status: &ClusterVersionStatus, update: &Update) -> bool {
    let desired = &status.desired;
    match (update.image(), update.version(), update.architecture()) {
        (Some(image), _, _) => same_content(image, &desired.image),
        (None, _, Some(Architecture::Multi)) => desired.architecture == Some(Architecture::Multi),
        (None, version, _) => version == Some(&desired.version),
    }
}

/// How far the operator is with the release that it has accepted last.
fn reached(status: &ClusterVersionStatus) -> State {
    let newest = status.history.first();
    let newest = newest.filter(|newest| same_content(&newest.image, &status.desired.image));
    match newest.map(|newest| &newest.state) {
        None => State::Accepted,
        Some(UpdateState::Completed) => State::Completed,
        Some(_) => State::Started,
    }
}

impl fmt::Display for RequestStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.message.as_deref().unwrap_or_default();
        match self.state {
            State::Accepted => {
                write!(
                    f,
                    "The operator accepted the release, and has not started yet. {}",
                    OneLine(message)
                )
            }
            State::Started => write!(f, "The operator accepted the release. {}", OneLine(message)),
            State::Completed => write!(f, "The update is complete. {}", OneLine(message)),
            State::Refused => {
                f.write_str("The operator refuses the release:\n")?;
                write_reason(f, self.reason.as_deref(), self.message.as_deref())?;
                f.write_str(
                    "\n\nThe request remains, and the operator re-evaluates it when the cluster \
                     changes. Withdraw it with\n  fairway upgrade --clear",
                )
            }
            State::Pending => {
                f.write_str("The operator has not decided yet")?;
                match message {
                    "" => f.write_str(".")?,
                    message => write!(f, ": {}", OneLine(message))?,
                }
                f.write_str("\nThe request remains. Show its state with\n  fairway upgrade")
            }
            State::Superseded => {
                f.write_str("Superseded: another client changed spec.desiredUpdate.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::UpdateHistory;
    use fairway_testkit::objects;

    use super::super::outcome::{Action, Named, Outcome};
    use super::*;
    use crate::commands::upgrade::fixtures::{cluster_version, condition, hold};

    #[test]
    fn what_the_operator_says() {
        let asked =
            Update { image: Some(objects::release("5.1.9").image), ..objects::update_to("5.1.9") };
        let answer = |change: &dyn Fn(&mut ClusterVersion)| {
            let mut object = cluster_version();
            object.metadata.generation = Some(2);
            object.spec.desired_update = Some(asked.clone());
            object.status.as_mut().unwrap().observed_generation = 2;
            change(&mut object);
            let answer = RequestStatus::of(&object, &asked);
            format!("{}: {answer}", answer.exit_status().code())
        };
        let accepted = |status: ConditionStatus, reason: &str, message: &str| {
            condition("ReleaseAccepted", status, reason, message)
        };
        let loaded = || accepted(true.into(), "PayloadLoaded", "Loaded.");
        let waiting = [
            answer(&|_| {}),
            answer(&|object| hold(object, loaded())),
            answer(&|object| {
                hold(
                    object,
                    accepted(ConditionStatus::Unknown, "RetrievePayload", "Fetching 5.1.9"),
                );
            }),
            answer(&|object| {
                hold(object, accepted(false.into(), "UnacceptedRisks", "Of another request."));
                object.status.as_mut().unwrap().observed_generation = 1;
            }),
        ];
        insta::assert_snapshot!(waiting.join("\n\n"), @"
        5: The operator has not decided yet.
        The request remains. Show its state with
          fairway upgrade

        5: The operator has not decided yet.
        The request remains. Show its state with
          fairway upgrade

        5: The operator has not decided yet: Fetching 5.1.9
        The request remains. Show its state with
          fairway upgrade

        5: The operator has not decided yet.
        The request remains. Show its state with
          fairway upgrade
        ");
        let decided = [
            answer(&|object| {
                hold(object, loaded());
                hold(object, condition("Progressing", true, "", "Working towards 5.1.9"));
                object.status.as_mut().unwrap().desired = objects::release("5.1.9");
            }),
            answer(&|object| {
                hold(object, loaded());
                hold(object, condition("Progressing", true, "", "Working towards 5.1.9: 1 of 9"));
                begin(object, UpdateState::Partial);
            }),
            answer(&|object| {
                hold(object, loaded());
                hold(object, condition("Progressing", false, "", "Cluster version is 5.1.9"));
                begin(object, UpdateState::Completed);
            }),
            answer(&|object| {
                hold(object, accepted(false.into(), "UnacceptedRisks", "SlowDisks.\nAccept it."));
            }),
            answer(&|object| {
                hold(object, loaded());
                hold(
                    object,
                    condition("Invalid", true, "InvalidClusterVersion", "No such version"),
                );
            }),
            answer(&|object| object.spec.desired_update = None),
        ];
        insta::assert_snapshot!(decided.join("\n\n"), @"
        0: The operator accepted the release, and has not started yet. Working towards 5.1.9

        0: The operator accepted the release. Working towards 5.1.9: 1 of 9

        0: The update is complete. Cluster version is 5.1.9

        3: The operator refuses the release:

          Reason: UnacceptedRisks
          Message:
            SlowDisks.
            Accept it.

        The request remains, and the operator re-evaluates it when the cluster changes. Withdraw it with
          fairway upgrade --clear

        3: The operator refuses the release:

          Reason: InvalidClusterVersion
          Message: No such version

        The request remains, and the operator re-evaluates it when the cluster changes. Withdraw it with
          fairway upgrade --clear

        4: Superseded: another client changed spec.desiredUpdate.
        ");
    }

    /// Gives the cluster a history with 5.1.9 in that state.
    fn begin(object: &mut ClusterVersion, state: UpdateState) {
        let status = object.status.as_mut().unwrap();
        status.desired = objects::release("5.1.9");
        let image = status.desired.image.clone();
        status.history.insert(0, UpdateHistory { state, image, ..UpdateHistory::default() });
    }

    #[test]
    fn what_was_waited_for_in_vain_goes_on() {
        let mut object = cluster_version();
        let asked = objects::update_to("5.1.9");
        object.spec.desired_update = Some(asked.clone());
        hold(&mut object, condition("Progressing", true, "", "Working towards 5.1.9: 1 of 9"));
        begin(&mut object, UpdateState::Partial);
        let answer = RequestStatus::of(&object, &asked);
        assert!(answer.is_one() && !answer.is_the_last());
        assert_eq!(answer.progress(), "Working towards 5.1.9: 1 of 9");
        let outcome = Outcome {
            release: Some(Named::asked(&asked)),
            status: Some(answer),
            timed_out: true,
            ..Outcome::new(Action::Requested)
        };
        assert_eq!(outcome.exit_status(), ExitStatus::TimedOut);
        insta::assert_snapshot!(outcome, @"
        Requested update to 5.1.9

        The operator accepted the release. Working towards 5.1.9: 1 of 9
        The update is still in progress. Show its state with
          fairway upgrade status
        ");
    }
}
