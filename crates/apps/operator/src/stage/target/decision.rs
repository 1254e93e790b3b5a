//! Decisions about the desired release: the condition `ReleaseAccepted` and its events.

use std::fmt;

use fairway_api::reason::{Reason, release_accepted};
use fairway_api::{ConditionStatus, OperatorCondition, limits};
use kube::runtime::events::EventType;

use super::desired_release::UpdateRequest;
use super::preconditions::PreconditionFailure;
use crate::event::PendingEvent;
use crate::text;

/// Decision about the desired release, with the condition that reports it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// The release is the target.
    Accepted(Box<OperatorCondition>),
    /// The operator waits for data, the release image or a preflight.
    Pending(Box<OperatorCondition>),
    /// The release is not the target until the request or the cluster changes.
    Refused(Box<OperatorCondition>),
}

impl Decision {
    fn new(status: ConditionStatus, reason: Reason, message: &str) -> Self {
        let message = fairway_text::excerpt(message, limits::MESSAGE);
        let condition =
            OperatorCondition::new(release_accepted::TYPE, status).reason(reason).message(message);
        match condition.status {
            ConditionStatus::True => Self::Accepted(Box::new(condition)),
            ConditionStatus::False => Self::Refused(Box::new(condition)),
            _ => Self::Pending(Box::new(condition)),
        }
    }

    /// The condition `ReleaseAccepted`.
    pub(super) fn condition(&self) -> &OperatorCondition {
        let (Self::Accepted(condition) | Self::Pending(condition) | Self::Refused(condition)) =
            self;
        condition
    }
}

/// A release, as messages name it.
pub(super) struct ReleaseName<'a> {
    pub(super) version: Option<&'a str>,
    pub(super) image: &'a str,
}

impl<'a> From<&'a UpdateRequest> for ReleaseName<'a> {
    fn from(request: &'a UpdateRequest) -> Self {
        Self { version: request.version.as_deref(), image: &request.image }
    }
}

impl fmt::Display for ReleaseName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(version) = self.version {
            write!(f, "version=\"{}\" ", text::excerpt(version))?;
        }
        // Users copy image references, so they are not shortened to an excerpt.
        write!(f, "image=\"{}\"", fairway_text::excerpt(self.image, 1024))
    }
}

pub(super) fn loaded(release: &ReleaseName, architecture: &str) -> Decision {
    let message = format!("Payload loaded {release} architecture=\"{architecture}\"");
    Decision::new(ConditionStatus::True, release_accepted::PAYLOAD_LOADED, &message)
}

/// The desired release or its risks are not known yet.
pub(super) fn waiting() -> Decision {
    let message = "Waiting for the updates of this cluster and their risks.";
    Decision::new(ConditionStatus::Unknown, release_accepted::EVALUATING_RISKS, message)
}

/// The preflight before the update has no result yet.
pub(super) fn awaiting_preflight(release: &ReleaseName) -> Decision {
    let message = format!("Waiting for the preflight results of payload {release}");
    Decision::new(ConditionStatus::Unknown, release_accepted::EVALUATING_RISKS, &message)
}

/// A preflight still runs. It must not run during an update.
pub(super) fn awaiting_preflight_removal(release: &ReleaseName) -> Decision {
    let message = format!("Waiting for the removal of the preflight before payload {release}");
    Decision::new(ConditionStatus::Unknown, release_accepted::EVALUATING_RISKS, &message)
}

pub(super) fn retrieving(release: &ReleaseName) -> Decision {
    let message = format!("Retrieving and verifying payload {release}");
    Decision::new(ConditionStatus::Unknown, release_accepted::RETRIEVE_PAYLOAD, &message)
}

pub(super) fn not_retrieved(release: &ReleaseName, why: &str) -> Decision {
    let message = format!("Retrieving payload failed {release} failure={why}");
    Decision::new(ConditionStatus::False, release_accepted::RETRIEVE_PAYLOAD, &message)
}

pub(super) fn not_loaded(release: &ReleaseName, why: &str) -> Decision {
    let message = format!("Loading payload failed {release} failure={why}");
    Decision::new(ConditionStatus::False, release_accepted::LOAD_PAYLOAD, &message)
}

pub(super) fn other_version(release: &ReleaseName, has: &str) -> Decision {
    let wanted = release.version.unwrap_or_default();
    let message = format!(
        "Verifying payload failed {release} failure=release image version {has} does not match the \
         expected version {wanted}"
    );
    Decision::new(ConditionStatus::False, release_accepted::VERIFY_PAYLOAD_VERSION, &message)
}

/// The first release is not complete. An update would mix the manifests of two releases in the order
/// of an installation.
pub(super) fn installing(release: &ReleaseName, has: &str) -> Decision {
    let message = format!(
        "Preconditions failed for payload {release}: the cluster is still being installed; the \
         operator evaluates the update once {has} is installed"
    );
    Decision::new(ConditionStatus::False, release_accepted::PRECONDITION_CHECKS, &message)
}

/// Failed preconditions, with unaccepted risks, so that one message has everything to do.
pub(super) fn preconditions_failed(
    release: &ReleaseName,
    failures: &[PreconditionFailure],
    risks: Option<&fairway_risk::UnacceptedRisks>,
) -> Decision {
    let lines = failures.iter().map(ToString::to_string).chain(risks.map(ToString::to_string));
    let lines: Vec<String> = lines.collect();
    let listed = match lines.as_slice() {
        [one] => format!(" {one}"),
        [] => String::new(),
        several => format!("\n* {}", several.join("\n* ")),
    };
    let message = format!("Preconditions failed for payload loaded {release}:{listed}");
    Decision::new(ConditionStatus::False, release_accepted::PRECONDITION_CHECKS, &message)
}

pub(super) fn unaccepted_risks(risks: &fairway_risk::UnacceptedRisks) -> Decision {
    Decision::new(ConditionStatus::False, release_accepted::UNACCEPTED_RISKS, &risks.to_string())
}

impl PendingEvent {
    /// The event of a changed condition `ReleaseAccepted`.
    pub(super) fn of_condition(condition: &OperatorCondition) -> Option<Self> {
        const WAITING: &str = release_accepted::EVALUATING_RISKS.code;
        const RETRIEVE: &str = release_accepted::RETRIEVE_PAYLOAD.code;
        const LOADED: &str = release_accepted::PAYLOAD_LOADED.code;
        const LOAD: &str = release_accepted::LOAD_PAYLOAD.code;
        const VERSION: &str = release_accepted::VERIFY_PAYLOAD_VERSION.code;
        let (type_, reason) = match (condition.reason.as_deref()?, &condition.status) {
            (WAITING, _) => return None,
            (RETRIEVE, ConditionStatus::Unknown) => (EventType::Normal, "RetrievePayload"),
            (RETRIEVE, _) => (EventType::Warning, "RetrievePayloadFailed"),
            (LOADED, _) => (EventType::Normal, "PayloadLoaded"),
            (LOAD, _) => (EventType::Warning, "LoadPayloadFailed"),
            (VERSION, _) => (EventType::Warning, "VerifyPayloadVersionFailed"),
            _ => (EventType::Warning, "PreconditionBlock"),
        };
        Some(Self::new(type_, reason, condition.message.as_deref().unwrap_or_default()))
    }

    /// The event of an accepted update.
    pub(super) fn accepted(version: &str, accepted_risks: Option<&str>) -> Self {
        if let Some(risks) = accepted_risks {
            return Self::new(EventType::Warning, "PreconditionWarn", risks);
        }
        let note = format!("All preconditions of the update to {version} passed.");
        Self::new(EventType::Normal, "PreconditionsPassed", &note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_of_each_decision() {
        let named = ReleaseName { version: Some("5.1.0"), image: "r.example/release@sha256:1" };
        let decisions = [
            retrieving(&named),
            not_retrieved(&named, "the registry is down"),
            not_loaded(&named, "it is empty"),
            other_version(&named, "5.1.1"),
            preconditions_failed(&named, &[], None),
            installing(&named, "5.0.0"),
            loaded(&named, "amd64"),
        ];
        let events: Vec<String> = decisions
            .iter()
            .filter_map(|decision| PendingEvent::of_condition(decision.condition()))
            .chain([
                PendingEvent::accepted("5.1.0", None),
                PendingEvent::accepted("5.1.0", Some("It was forced.")),
            ])
            .map(|PendingEvent { type_, reason, note }| format!("{type_:?} {reason}: {note}"))
            .collect();
        assert_eq!(PendingEvent::of_condition(waiting().condition()), None);
        insta::assert_snapshot!(events.join("\n"), @r#"
        Normal RetrievePayload: Retrieving and verifying payload version="5.1.0" image="r.example/release@sha256:1"
        Warning RetrievePayloadFailed: Retrieving payload failed version="5.1.0" image="r.example/release@sha256:1" failure=the registry is down
        Warning LoadPayloadFailed: Loading payload failed version="5.1.0" image="r.example/release@sha256:1" failure=it is empty
        Warning VerifyPayloadVersionFailed: Verifying payload failed version="5.1.0" image="r.example/release@sha256:1" failure=release image version 5.1.1 does not match the expected version 5.1.0
        Warning PreconditionBlock: Preconditions failed for payload loaded version="5.1.0" image="r.example/release@sha256:1":
        Warning PreconditionBlock: Preconditions failed for payload version="5.1.0" image="r.example/release@sha256:1": the cluster is still being installed; the operator evaluates the update once 5.0.0 is installed
        Normal PayloadLoaded: Payload loaded version="5.1.0" image="r.example/release@sha256:1" architecture="amd64"
        Normal PreconditionsPassed: All preconditions of the update to 5.1.0 passed.
        Warning PreconditionWarn: It was forced.
        "#);
    }

    #[test]
    fn accepted_event_note_is_truncated() {
        assert!(PendingEvent::accepted("5.1.0", Some(&"x".repeat(2000))).note.len() <= 1024);
    }
}
