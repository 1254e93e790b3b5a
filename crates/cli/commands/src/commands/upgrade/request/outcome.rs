//! Result of an update request.

use std::fmt;

use fairway_api::cluster_version::Update;
use fairway_api::version::VersionChange;
use fairway_insight::{RequestState, RequestStatus};
use fairway_risk::AcceptanceTerms;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::acceptance::TermsSuffix;
use super::super::release::ReleaseReference;
use super::super::report::text::write_reason;
use super::cautions::UpdateCaution;
use super::unaccepted_risk::UnacceptedRisk;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;

/// Result of an update request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpdateOutcome {
    /// Whether this is a dry run.
    pub(super) dry_run: bool,
    /// What the command did.
    pub(super) action: Action,
    /// Release of the request.
    pub(super) release: Option<ReleaseReference>,
    /// Version of the cluster, or of the rollout in progress, before the request.
    pub(super) from: Option<String>,
    /// Kind of version change.
    pub(super) step: Option<VersionChange>,
    /// Properties of the update that need attention.
    pub(super) cautions: Vec<UpdateCaution>,
    /// Whether signature verification, preconditions and risks are waived.
    pub(super) force: bool,
    /// Newly accepted risks.
    pub(super) accepted: Vec<AcceptedRisk>,
    /// Names of all accepted risks: `spec.desiredUpdate.acceptRisks`.
    pub(super) accept_risks: Vec<String>,
    /// Message of the condition `Progressing`, if the rollout of the release is in progress.
    pub(super) progress: Option<String>,
    /// Status of the request, `null` if the command did not wait for the operator.
    pub(super) status: Option<RequestStatus>,
    /// Whether the command stopped waiting before the requested state was reached.
    pub(super) timed_out: bool,
    /// Probable mistakes in the arguments.
    pub(super) warnings: Vec<String>,
    /// `spec.desiredUpdate` after the command.
    #[serde(skip)]
    pub(super) update: Update,
}

/// What the command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Action {
    /// Requested an update.
    Requested,
    /// Nothing: the update was already requested.
    AlreadyRequested,
    /// Requested the previous release.
    RolledBack,
    /// Requested the multi-architecture release of the same version.
    RequestedMultiArch,
    /// Nothing: the multi-architecture release was already requested.
    AlreadyRequestedMultiArch,
    /// Nothing: the cluster already has the multi-architecture release.
    AlreadyMultiArch,
    /// Nothing: the cluster has the release, or its rollout is in progress.
    AlreadyCurrent,
    /// Nothing: there is no later release.
    Latest,
    /// Withdrew a request for the current release.
    Cleared,
    /// Withdrew a request for a release whose rollout is in progress.
    Withdrawn,
    /// Withdrew a request for another release.
    Cancelled,
    /// Withdrew a request for the multi-architecture release.
    CancelledMultiArch,
    /// Withdrew a preflight request.
    CancelledPreflight,
    /// Nothing: no update was requested.
    NoRequest,
}

/// Newly accepted risk.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AcceptedRisk {
    #[serde(flatten)]
    pub(super) risk: UnacceptedRisk,
    /// Terms of the acceptance.
    pub(super) terms: AcceptanceTerms,
}

impl UpdateOutcome {
    /// Outcome with default values.
    pub(super) fn new(action: Action) -> Self {
        Self {
            dry_run: false,
            action,
            release: None,
            from: None,
            step: None,
            cautions: Vec::new(),
            force: false,
            accepted: Vec::new(),
            accept_risks: Vec::new(),
            progress: None,
            status: None,
            timed_out: false,
            warnings: Vec::new(),
            update: Update::default(),
        }
    }

    /// Whether the operator decides on the request.
    pub(super) fn needs_decision(&self) -> bool {
        matches!(
            self.action,
            Action::Requested
                | Action::AlreadyRequested
                | Action::RolledBack
                | Action::RequestedMultiArch
                | Action::AlreadyRequestedMultiArch
        )
    }

    /// Whether the rollout of the release is in progress.
    pub(super) fn is_in_progress(&self) -> bool {
        self.action == Action::AlreadyCurrent && self.progress.is_some()
    }

    /// Exit status of the command.
    pub(super) fn exit_status(&self) -> ExitStatus {
        match &self.status {
            None => ExitStatus::Success,
            Some(_) if self.timed_out => ExitStatus::TimedOut,
            Some(status) => exit_status(status),
        }
    }
}

impl fmt::Display for UpdateOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dry_run {
            f.write_str("Dry run, nothing changed. Without --dry-run:\n\n")?;
        }
        let name = self.release.as_ref().map_or("", ReleaseReference::name);
        let release = OneLine(name);
        match self.action {
            Action::Requested => write!(f, "Requested update to {release}")?,
            Action::AlreadyRequested => write!(f, "An update to {release} is already requested")?,
            Action::RolledBack => {
                let from = self.from.as_deref().unwrap_or_default();
                write!(f, "Requested rollback from {} to {release}", OneLine(from))?;
            }
            Action::RequestedMultiArch => {
                f.write_str("Requested update to multi cluster architecture")?;
            }
            Action::AlreadyRequestedMultiArch => {
                f.write_str("Update to multi cluster architecture has already been requested")?;
            }
            Action::AlreadyMultiArch => {
                f.write_str("Cluster already has the multi cluster architecture")?;
            }
            Action::AlreadyCurrent => match &self.progress {
                None => write!(f, "Cluster is already at version {release}")?,
                // The status below has the progress.
                Some(_) if self.status.is_some() => {
                    write!(f, "An update to {release} is already in progress")?;
                }
                Some(progress) => {
                    write!(
                        f,
                        "An update to {release} is already in progress: {}",
                        OneLine(progress)
                    )?;
                }
            },
            Action::Latest => {
                write!(f, "Cluster is already at the latest available version {release}")?;
            }
            Action::Cleared => write!(f, "Cleared the update field, still at {release}")?,
            Action::Withdrawn => write!(f, "Withdrew the request for {release}")?,
            Action::Cancelled => write!(f, "Cancelled requested upgrade to {release}")?,
            Action::CancelledMultiArch => {
                f.write_str("Cancelled requested update to multi cluster architecture")?;
            }
            Action::CancelledPreflight => {
                write!(f, "Cancelled requested preflight of {release}")?;
            }
            Action::NoRequest => f.write_str("No update is requested")?,
        }
        self.accepted.iter().try_for_each(|accepted| write!(f, "\n\n{accepted}"))?;
        let Some(status) = &self.status else { return Ok(()) };
        write!(f, "\n\n{}", StatusText(status))?;
        match status.state {
            RequestState::Accepted | RequestState::Started if self.timed_out => f.write_str(
                "\nThe update is still in progress. Show its state with\n  fairway upgrade status",
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for AcceptedRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { risk, terms } = self;
        write!(f, "Accepted: {risk}{}", TermsSuffix(terms))?;
        for text in [&risk.message, &risk.url].into_iter().flatten() {
            write!(f, "\n  {}", OneLine(text))?;
        }
        Ok(())
    }
}

/// Exit status for the status of a request.
fn exit_status(status: &RequestStatus) -> ExitStatus {
    match status.state {
        RequestState::Accepted | RequestState::Started | RequestState::Completed => {
            ExitStatus::Success
        }
        RequestState::Refused => ExitStatus::Refused,
        RequestState::Pending => ExitStatus::TimedOut,
        RequestState::Superseded => ExitStatus::Unknown,
    }
}

/// Progress of a request in one line.
pub(super) fn progress(status: &RequestStatus) -> String {
    let message = OneLine(status.message.as_deref().unwrap_or_default()).to_string();
    match status.state {
        RequestState::Pending if message.is_empty() => "Waiting for the operator…".to_owned(),
        RequestState::Pending => format!("Requested, not accepted yet: {message}"),
        RequestState::Accepted => format!("Accepted, not started yet: {message}"),
        _ => message,
    }
}

/// Text of the status of a request.
pub(super) struct StatusText<'a>(pub(super) &'a RequestStatus);

impl fmt::Display for StatusText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.0;
        let message = status.message.as_deref().unwrap_or_default();
        match status.state {
            RequestState::Accepted => {
                write!(
                    f,
                    "The operator accepted the release and has not started the update yet. {}",
                    OneLine(message)
                )
            }
            RequestState::Started => {
                write!(f, "The operator accepted the release. {}", OneLine(message))
            }
            RequestState::Completed => write!(f, "The update is complete. {}", OneLine(message)),
            RequestState::Refused => {
                f.write_str("The operator refuses the release:\n")?;
                write_reason(f, status.reason.as_deref(), status.message.as_deref())?;
                f.write_str(
                    "\n\nThe request remains, and the operator re-evaluates it when the cluster \
                     changes. Withdraw it with\n  fairway upgrade --clear",
                )
            }
            RequestState::Pending => {
                f.write_str("The operator has not decided yet")?;
                match message {
                    "" => f.write_str(".")?,
                    message => write!(f, ": {}", OneLine(message))?,
                }
                f.write_str("\nThe request remains. Show its state with\n  fairway upgrade")
            }
            RequestState::Superseded => {
                f.write_str("Superseded: another client changed spec.desiredUpdate.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::{UpdateHistory, UpdateState};
    use fairway_api::{ClusterVersion, ConditionStatus};
    use fairway_testkit::objects;

    use super::*;
    use crate::commands::upgrade::fixtures::{cluster_version, condition, hold};

    #[test]
    fn request_status_by_conditions() {
        let requested =
            Update { image: Some(objects::release("5.1.9").image), ..objects::update_to("5.1.9") };
        let output = |change: &dyn Fn(&mut ClusterVersion)| {
            let mut object = cluster_version();
            object.metadata.generation = Some(2);
            object.spec.desired_update = Some(requested.clone());
            object.status.as_mut().unwrap().observed_generation = 2;
            change(&mut object);
            let status = RequestStatus::of(&object, &requested);
            format!("{}: {}", exit_status(&status).code(), StatusText(&status))
        };
        let accepted = |status: ConditionStatus, reason: &str, message: &str| {
            condition("ReleaseAccepted", status, reason, message)
        };
        let loaded = || accepted(true.into(), "PayloadLoaded", "Loaded.");
        let waiting = [
            output(&|_| {}),
            output(&|object| hold(object, loaded())),
            output(&|object| {
                hold(
                    object,
                    accepted(ConditionStatus::Unknown, "RetrievePayload", "Fetching 5.1.9"),
                );
            }),
            output(&|object| {
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
            output(&|object| {
                hold(object, loaded());
                hold(object, condition("Progressing", true, "", "Working towards 5.1.9"));
                object.status.as_mut().unwrap().desired = objects::release("5.1.9");
            }),
            output(&|object| {
                hold(object, loaded());
                hold(object, condition("Progressing", true, "", "Working towards 5.1.9: 1 of 9"));
                begin(object, UpdateState::Partial);
            }),
            output(&|object| {
                hold(object, loaded());
                hold(object, condition("Progressing", false, "", "Cluster version is 5.1.9"));
                begin(object, UpdateState::Completed);
            }),
            output(&|object| {
                hold(object, accepted(false.into(), "UnacceptedRisks", "SlowDisks.\nAccept it."));
            }),
            output(&|object| {
                hold(object, loaded());
                hold(
                    object,
                    condition("Invalid", true, "InvalidClusterVersion", "No such version"),
                );
            }),
            output(&|object| object.spec.desired_update = None),
        ];
        insta::assert_snapshot!(decided.join("\n\n"), @"
        0: The operator accepted the release and has not started the update yet. Working towards 5.1.9

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

    /// Adds 5.1.9 to the history, in a state.
    fn begin(object: &mut ClusterVersion, state: UpdateState) {
        let status = object.status.as_mut().unwrap();
        status.desired = objects::release("5.1.9");
        let image = status.desired.image.clone();
        status.history.insert(0, UpdateHistory { state, image, ..UpdateHistory::default() });
    }

    #[test]
    fn timed_out_update_is_still_in_progress() {
        let mut object = cluster_version();
        let requested = objects::update_to("5.1.9");
        object.spec.desired_update = Some(requested.clone());
        hold(&mut object, condition("Progressing", true, "", "Working towards 5.1.9: 1 of 9"));
        begin(&mut object, UpdateState::Partial);
        let status = RequestStatus::of(&object, &requested);
        assert!(status.is_decided() && !status.is_final());
        assert_eq!(progress(&status), "Working towards 5.1.9: 1 of 9");
        let outcome = UpdateOutcome {
            release: Some(ReleaseReference::requested(&requested)),
            status: Some(status),
            timed_out: true,
            ..UpdateOutcome::new(Action::Requested)
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
