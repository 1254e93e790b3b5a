//! The condition `ReleaseAccepted`: what people are told about the release that is asked for.

use std::fmt;

use fairway_api::reason::{Reason, release_accepted};
use fairway_api::{ConditionStatus, OperatorCondition, limits};

use super::guards::Objection;
use super::resolve::Request;
use crate::text;

/// A release, as messages name it.
pub(super) struct Named<'a> {
    pub(super) version: Option<&'a str>,
    pub(super) image: &'a str,
}

impl<'a> From<&'a Request> for Named<'a> {
    fn from(request: &'a Request) -> Self {
        Self { version: request.version.as_deref(), image: &request.image }
    }
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(version) = self.version {
            write!(f, "version=\"{}\" ", text::excerpt(version))?;
        }
        // The names of images are as long as registries take them, and are told whole.
        write!(f, "image=\"{}\"", fairway_text::excerpt(self.image, 1024))
    }
}

fn condition(status: ConditionStatus, reason: Reason, message: &str) -> OperatorCondition {
    let message = fairway_text::excerpt(message, limits::MESSAGE);
    OperatorCondition::new(release_accepted::TYPE, status).reason(reason).message(message)
}

pub(super) fn loaded(release: &Named, architecture: &str) -> OperatorCondition {
    let message = format!("Payload loaded {release} architecture=\"{architecture}\"");
    condition(ConditionStatus::True, release_accepted::PAYLOAD_LOADED, &message)
}

/// Nobody knows yet which release is meant, or what speaks against it.
pub(super) fn waiting() -> OperatorCondition {
    let message = "Waiting for the updates of this cluster and their risks.";
    condition(ConditionStatus::Unknown, release_accepted::EVALUATING_RISKS, message)
}

/// The release is asked about this cluster before the update to it begins.
pub(super) fn checking(release: &Named) -> OperatorCondition {
    let message = format!("Waiting for the preflight results of payload {release}");
    condition(ConditionStatus::Unknown, release_accepted::EVALUATING_RISKS, &message)
}

/// Nothing of a preflight runs beside an update.
pub(super) fn clearing(release: &Named) -> OperatorCondition {
    let message = format!("Waiting for the removal of the preflight before payload {release}");
    condition(ConditionStatus::Unknown, release_accepted::EVALUATING_RISKS, &message)
}

pub(super) fn retrieving(release: &Named) -> OperatorCondition {
    let message = format!("Retrieving and verifying payload {release}");
    condition(ConditionStatus::Unknown, release_accepted::RETRIEVE_PAYLOAD, &message)
}

pub(super) fn not_retrieved(release: &Named, why: &str) -> OperatorCondition {
    let message = format!("Retrieving payload failed {release} failure={why}");
    condition(ConditionStatus::False, release_accepted::RETRIEVE_PAYLOAD, &message)
}

pub(super) fn not_loaded(release: &Named, why: &str) -> OperatorCondition {
    let message = format!("Loading payload failed {release} failure={why}");
    condition(ConditionStatus::False, release_accepted::LOAD_PAYLOAD, &message)
}

pub(super) fn other_version(release: &Named, has: &str) -> OperatorCondition {
    let wanted = release.version.unwrap_or_default();
    let message = format!(
        "Verifying payload failed {release} failure=release image version {has} does not match the \
         expected version {wanted}"
    );
    condition(ConditionStatus::False, release_accepted::VERIFY_PAYLOAD_VERSION, &message)
}

/// What was never complete is not left: manifests of two releases would be mixed, in the order of
/// an installation.
pub(super) fn installing(release: &Named, has: &str) -> OperatorCondition {
    let message = format!(
        "Preconditions failed for payload {release}: the cluster is still being installed; the \
         operator evaluates the update once {has} is installed"
    );
    condition(ConditionStatus::False, release_accepted::PRECONDITION_CHECKS, &message)
}

/// What is to be done is said together: risks, too, where there are some.
pub(super) fn guarded(
    release: &Named,
    objections: &[Objection],
    risks: Option<&fairway_risk::gate::Refusal>,
) -> OperatorCondition {
    let lines = objections.iter().map(ToString::to_string).chain(risks.map(ToString::to_string));
    let lines: Vec<String> = lines.collect();
    let told = match lines.as_slice() {
        [one] => format!(" {one}"),
        [] => String::new(),
        several => format!("\n* {}", several.join("\n* ")),
    };
    let message = format!("Preconditions failed for payload loaded {release}:{told}");
    condition(ConditionStatus::False, release_accepted::PRECONDITION_CHECKS, &message)
}

pub(super) fn risky(risks: &fairway_risk::gate::Refusal) -> OperatorCondition {
    condition(ConditionStatus::False, release_accepted::UNACCEPTED_RISKS, &risks.to_string())
}
