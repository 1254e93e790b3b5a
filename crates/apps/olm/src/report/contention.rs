//! Contention: another client repeatedly changes the same ClusterOperator. Drift correction backs off,
//! and events report it.

use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_election::Leadership;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, ResourceExt as _};
use tokio::time::timeout;

/// Field manager of the latest status write by another client.
pub(super) fn other_writer(object: &ClusterOperator, own: &str) -> Option<String> {
    // Old API servers do not set `subresource`, but list the fields.
    let has_status = |it: &&ManagedFieldsEntry| {
        it.fields_v1.as_ref().is_some_and(|fields| fields.0.get("f:status").is_some())
    };
    let others = object.managed_fields().iter().filter(has_status);
    let others = others.filter(|it| it.manager.as_deref() != Some(own));
    let latest = others.max_by_key(|it| it.time.as_ref().map(|time| time.0))?;
    latest.manager.clone()
}

/// Namespace of events about cluster-scoped objects.
const NAMESPACE: &str = "default";

/// Timeout of writing an event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(10);

/// Writes events about the ClusterOperator.
pub(super) struct EventRecorder {
    recorder: Recorder,
    about: ObjectReference,
    leadership: Leadership,
}

impl EventRecorder {
    pub(super) fn new(client: Client, cluster_operator: &str, leadership: Leadership) -> Self {
        let reporter = Reporter { controller: super::MANAGER.to_owned(), instance: None };
        let about = ObjectReference {
            api_version: Some("config.openshift.io/v1".to_owned()),
            kind: Some("ClusterOperator".to_owned()),
            name: Some(cluster_operator.to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectReference::default()
        };
        Self { recorder: Recorder::new(client, reporter), about, leadership }
    }

    /// Writes an event about contention. Errors are logged only: the metrics report it, too.
    pub(super) async fn record_contention(&self, writer: Option<&str>) {
        let event = event(writer);
        let published = timeout(EVENT_TIMEOUT, self.recorder.publish(&event, &self.about));
        if let Ok(Ok(Err(error))) = self.leadership.write(published).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "cannot write event");
        }
    }
}

/// The event. Its text is constant for each client, so that the API server counts repetitions.
fn event(writer: Option<&str>) -> Event {
    let writer = writer.map_or_else(|| "Another client".to_owned(), |writer| format!("{writer:?}"));
    let note = format!(
        "{writer} repeatedly changes the status that the OLM guard writes to this ClusterOperator. \
         The guard corrects it with increasing delays. If OLM itself writes this ClusterOperator, \
         give the guard's ClusterOperator another name with --cluster-operator"
    );
    Event {
        type_: EventType::Warning,
        reason: "ContendedObject".to_owned(),
        note: Some(note),
        action: "Repair".to_owned(),
        secondary: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_writer_is_latest_of_status() {
        let entry = |manager: &str, field: &str, minute: u8| {
            json!({
                "manager": manager, "operation": "Update", "fieldsV1": { field: {} },
                "time": format!("2026-01-01T00:{minute:02}:00Z"),
            })
        };
        let writer = |fields: &[serde_json::Value]| {
            let object = json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
                "metadata": { "name": "olm", "managedFields": fields }, "spec": {},
            });
            other_writer(&serde_json::from_value(object).unwrap(), "own")
        };
        assert_eq!(writer(&[]), None);
        assert_eq!(
            writer(&[entry("own", "f:status", 9), entry("labeller", "f:metadata", 8)]),
            None
        );
        let fields =
            [entry("old", "f:status", 1), entry("olm", "f:status", 5), entry("own", "f:status", 9)];
        assert_eq!(writer(&fields).as_deref(), Some("olm"));
    }

    #[test]
    fn event_names_client_and_remediation() {
        insta::assert_snapshot!(event(Some("olm")).note.unwrap(), @r#""olm" repeatedly changes the status that the OLM guard writes to this ClusterOperator. The guard corrects it with increasing delays. If OLM itself writes this ClusterOperator, give the guard's ClusterOperator another name with --cluster-operator"#);
        assert!(event(None).note.unwrap().starts_with("Another client repeatedly changes"));
    }
}
