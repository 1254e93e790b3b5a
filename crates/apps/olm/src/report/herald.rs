//! Telling people that somebody else writes the same ClusterOperator.

use std::time::Duration;

use fairway_election::Leadership;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::time::timeout;

/// Where events are about objects without a namespace.
const NAMESPACE: &str = "default";

/// How long an API server may take: nobody waits for an event.
const PATIENCE: Duration = Duration::from_secs(10);

/// Writes events about the ClusterOperator.
pub(super) struct Herald {
    recorder: Recorder,
    about: ObjectReference,
    leadership: Leadership,
}

impl Herald {
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

    /// Tells of a rival. What cannot be told is in the metrics all the same.
    pub(super) async fn tell_of(&self, rival: Option<&str>) {
        let event = event(rival);
        let published = timeout(PATIENCE, self.recorder.publish(&event, &self.about));
        if let Ok(Ok(Err(error))) = self.leadership.write(published).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "cannot write event");
        }
    }
}

/// It is the same every time, so that events are counted and not repeated.
fn event(rival: Option<&str>) -> Event {
    let rival = rival.map_or_else(|| "Another client".to_owned(), |rival| format!("{rival:?}"));
    let note = format!(
        "{rival} repeatedly changes the status that the OLM guard writes here. The guard corrects \
         it with increasing delays. If OLM itself writes this ClusterOperator, give the guard \
         another name with --cluster-operator"
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
    use super::*;

    #[test]
    fn the_event_says_who_and_what_to_do() {
        insta::assert_snapshot!(event(Some("olm")).note.unwrap(), @r#""olm" repeatedly changes the status that the OLM guard writes here. The guard corrects it with increasing delays. If OLM itself writes this ClusterOperator, give the guard another name with --cluster-operator"#);
        assert!(event(None).note.unwrap().starts_with("Another client repeatedly changes"));
    }
}
