//! Events of ClusterVersion: what became of a release that was asked for.

use fairway_api::reason::release_accepted;
use fairway_api::{ConditionStatus, OperatorCondition};
use kube::runtime::events::EventType;

use crate::event::Told;

impl Told {
    /// What there is to tell when the condition becomes this.
    pub(super) fn of(condition: &OperatorCondition) -> Option<Self> {
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

    /// That an update begins, and in spite of what.
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
    use super::super::condition::{self, Named};
    use super::*;

    #[test]
    fn every_step_has_its_event() {
        let named = Named { version: Some("5.1.0"), image: "r.example/release@sha256:1" };
        let conditions = [
            condition::retrieving(&named),
            condition::not_retrieved(&named, "the registry is down"),
            condition::not_loaded(&named, "it is empty"),
            condition::other_version(&named, "5.1.1"),
            condition::guarded(&named, &[], None),
            condition::installing(&named, "5.0.0"),
            condition::loaded(&named, "amd64"),
        ];
        let told: Vec<String> = conditions
            .iter()
            .filter_map(Told::of)
            .chain([Told::accepted("5.1.0", None), Told::accepted("5.1.0", Some("It was forced."))])
            .map(|Told { type_, reason, note }| format!("{type_:?} {reason}: {note}"))
            .collect();
        assert_eq!(Told::of(&condition::waiting()), None);
        insta::assert_snapshot!(told.join("\n"), @r#"
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
    fn a_note_is_as_long_as_servers_take_it() {
        assert!(Told::accepted("5.1.0", Some(&"x".repeat(2000))).note.len() <= 1024);
    }
}
