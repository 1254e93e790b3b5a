//! Telling people that somebody else wants an object otherwise, again and again.

use fairway_apply::within_time;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

use crate::election::Leadership;
use crate::names::OPERATOR;

/// What the event says: it is the same every time, so that events are counted and not repeated.
fn event(rival: Option<&str>) -> Event {
    let rival = rival.map_or_else(|| "Another client".to_owned(), |rival| format!("{rival:?}"));
    let note = format!(
        "{rival} repeatedly changes fields of this object that the release manages. The operator \
         corrects the drift with increasing delays. Find the other client with `kubectl get -o \
         yaml --show-managed-fields` and stop it, or list the object as unmanaged in \
         spec.overrides of ClusterVersion"
    );
    Event {
        type_: EventType::Warning,
        reason: "ContendedObject".to_owned(),
        note: Some(note),
        action: "Repair".to_owned(),
        secondary: None,
    }
}

/// Writes events about objects that are fought for.
#[derive(Clone)]
pub(super) struct Herald {
    recorder: Recorder,
    leadership: Leadership,
}

impl Herald {
    pub(super) fn new(client: Client, leadership: Leadership) -> Self {
        let reporter = Reporter { controller: OPERATOR.to_owned(), instance: None };
        Self { recorder: Recorder::new(client, reporter), leadership }
    }

    /// Tells it of an object. What cannot be told is in the metrics all the same.
    pub(super) async fn tell(self, object: ObjectReference, rival: Option<String>) {
        let event = event(rival.as_deref());
        let written = within_time(self.recorder.publish(&event, &object));
        if let Ok(Err(error)) = self.leadership.write(written).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "cannot write event");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_says_who_and_what_to_do() {
        insta::assert_snapshot!(event(Some("kubectl-edit")).note.unwrap(), @r#""kubectl-edit" repeatedly changes fields of this object that the release manages. The operator corrects the drift with increasing delays. Find the other client with `kubectl get -o yaml --show-managed-fields` and stop it, or list the object as unmanaged in spec.overrides of ClusterVersion"#);
        assert!(event(None).note.unwrap().starts_with("Another client repeatedly changes"));
    }
}
