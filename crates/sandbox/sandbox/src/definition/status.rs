//! What the API server writes into the status of a definition that it serves.

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinitionCondition as Condition, CustomResourceDefinitionStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::Definition;

impl Definition {
    /// The status of the definition, once its names are accepted and it is served.
    ///
    /// A condition that was there before keeps its time, and a version that was stored once stays
    /// among the stored ones.
    pub fn status(
        &self,
        before: Option<&CustomResourceDefinitionStatus>,
        now: Timestamp,
    ) -> CustomResourceDefinitionStatus {
        let mut conditions =
            before.and_then(|status| status.conditions.clone()).unwrap_or_default();
        for (type_, reason, message) in [
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ] {
            set(&mut conditions, type_, reason, message, now);
        }
        let mut stored =
            before.and_then(|status| status.stored_versions.clone()).unwrap_or_default();
        let storage = self.storage().name();
        if !stored.iter().any(|name| name == storage) {
            stored.push(storage.to_owned());
        }
        CustomResourceDefinitionStatus {
            accepted_names: Some(self.names().clone()),
            conditions: Some(conditions),
            stored_versions: Some(stored),
        }
    }
}

fn set(conditions: &mut Vec<Condition>, type_: &str, reason: &str, message: &str, now: Timestamp) {
    if conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True") {
        return;
    }
    conditions.retain(|condition| condition.type_ != type_);
    conditions.push(Condition {
        last_transition_time: Some(Time(now)),
        message: Some(message.to_owned()),
        reason: Some(reason.to_owned()),
        status: "True".to_owned(),
        type_: type_.to_owned(),
    });
}
