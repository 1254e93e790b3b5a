//! Backoff of repeated drift corrections, and detection of contention. The correction is in
//! `reconcile`.

use std::collections::BTreeMap;

use fairway_apply::{ContentionBackoff, within_time};
use fairway_release::ObjectId;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::time::Instant;

use crate::election::Leadership;
use crate::names::OPERATOR;

/// Schedules drift correction by object: the first at once, later ones with backoff.
///
/// It receives every change of an object, by any client. A check against the cache is free, and a
/// check that finds no drift does not count as a correction.
#[derive(Debug, Default)]
pub struct DriftBackoff {
    objects: BTreeMap<ObjectId, Corrections>,
}

#[derive(Debug, Default)]
struct Corrections {
    due: Option<Instant>,
    contention: ContentionBackoff,
}

impl DriftBackoff {
    /// Records a change or deletion of an object.
    pub fn object_changed(&mut self, id: ObjectId, now: Instant) {
        self.objects
            .retain(|_, repairs| repairs.due.is_some() || !repairs.contention.is_reset(now));
        let repairs = self.objects.entry(id).or_default();
        let from = repairs.contention.next_correction(now).max(now);
        repairs.due = Some(repairs.due.map_or(from, |due| due.min(from)));
    }

    /// Objects to check now, each once.
    pub fn due(&mut self, now: Instant) -> Vec<ObjectId> {
        let due = self
            .objects
            .iter_mut()
            .filter(|(_, repairs)| repairs.due.is_some_and(|due| due <= now));
        due.map(|(id, repairs)| {
            repairs.due = None;
            id.clone()
        })
        .collect()
    }

    /// Time at which the next object is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.objects.values().filter_map(|repairs| repairs.due).min()
    }

    /// Records a correction. Returns the number of corrections if it counts as contention.
    pub fn corrected(&mut self, id: &ObjectId, now: Instant) -> Option<u32> {
        self.objects.entry(id.clone()).or_default().contention.corrected(now)
    }

    /// Records a failed correction: it is retried with the same backoff.
    pub fn failed(&mut self, id: &ObjectId, now: Instant) {
        self.corrected(id, now);
        self.object_changed(id.clone(), now);
    }
}

/// The event. Its text is constant for each client, so that the API server counts repetitions.
fn event(other_writer: Option<&str>) -> Event {
    let other_writer = other_writer
        .map_or_else(|| "Another client".to_owned(), |other_writer| format!("{other_writer:?}"));
    let note = format!(
        "{other_writer} repeatedly changes fields of this object that the release manages. The operator \
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

/// Writes events about contention.
#[derive(Clone)]
pub(super) struct ContentionEvents {
    recorder: Recorder,
    leadership: Leadership,
}

impl ContentionEvents {
    pub(super) fn new(client: Client, leadership: Leadership) -> Self {
        let reporter = Reporter { controller: OPERATOR.to_owned(), instance: None };
        Self { recorder: Recorder::new(client, reporter), leadership }
    }

    /// Writes an event about an object. Errors are logged only: the metrics report contention, too.
    pub(super) async fn record(self, object: ObjectReference, other_writer: Option<String>) {
        let event = event(other_writer.as_deref());
        let written = within_time(self.recorder.publish(&event, &object));
        if let Ok(Err(error)) = self.leadership.write(written).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "cannot write event");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairway_apply::{CONTENTION_RESET_INTERVAL, REPAIR_BACKOFF};

    use super::*;

    fn id(name: &str) -> ObjectId {
        ObjectId { name: name.to_owned(), ..ObjectId::default() }
    }

    /// Delays in seconds before corrections of an object that another client changes at once again.
    fn delays(backoff: &mut DriftBackoff, mut now: Instant, times: usize) -> (Vec<u64>, Instant) {
        let mut delays = Vec::new();
        for _ in 0..times {
            backoff.object_changed(id("a"), now);
            let due = backoff.next_due().expect("something is due");
            delays.push((due - now).as_secs());
            now = due;
            assert_eq!(backoff.due(now), [id("a")]);
            backoff.corrected(&id("a"), now);
        }
        (delays, now)
    }

    #[test]
    fn object_changed_repeatedly_backs_off() {
        let (mut backoff, now) = (DriftBackoff::default(), Instant::now());
        let (delays_during_contention, later) = delays(&mut backoff, now, 12);
        assert_eq!(delays_during_contention, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(backoff.next_due(), None);
        backoff.object_changed(id("b"), later);
        assert_eq!(backoff.due(later), [id("b")], "objects do not wait for each other");
        let (after_reset, _) = delays(&mut backoff, later + CONTENTION_RESET_INTERVAL, 3);
        assert_eq!(after_reset, [0, 1, 2]);
    }

    #[test]
    fn object_changed_without_correction_has_no_delay() {
        let (mut backoff, now) = (DriftBackoff::default(), Instant::now());
        for _ in 0..100 {
            backoff.object_changed(id("a"), now);
            assert_eq!(backoff.due(now), [id("a")]);
        }
        backoff.object_changed(id("b"), now + CONTENTION_RESET_INTERVAL);
        assert_eq!(backoff.objects.len(), 1, "idle objects are removed");
    }

    #[test]
    fn object_changed_during_backoff_is_due_once() {
        let (mut backoff, now) = (DriftBackoff::default(), Instant::now());
        let (_, now) = delays(&mut backoff, now, 3);
        for _ in 0..3 {
            backoff.object_changed(id("a"), now);
        }
        assert_eq!(backoff.due(now), []);
        assert_eq!(backoff.due(now + Duration::from_secs(4)), [id("a")]);
        assert_eq!(backoff.due(now + Duration::from_secs(4)), []);
    }

    #[test]
    fn corrected_returns_count_from_contention_threshold() {
        let (mut backoff, now) = (DriftBackoff::default(), Instant::now());
        let counts: Vec<_> = (0..7).map(|_| backoff.corrected(&id("a"), now)).collect();
        assert_eq!(counts, [None, None, None, None, Some(5), Some(6), Some(7)]);
    }

    #[test]
    fn failed_is_due_after_backoff() {
        let (mut backoff, now) = (DriftBackoff::default(), Instant::now());
        backoff.failed(&id("a"), now);
        assert_eq!(backoff.next_due(), Some(now + REPAIR_BACKOFF.first));
        assert_eq!(backoff.due(now + REPAIR_BACKOFF.first), [id("a")]);
        backoff.failed(&id("a"), now + REPAIR_BACKOFF.first);
        assert_eq!(backoff.next_due(), Some(now + REPAIR_BACKOFF.first * 3));
    }

    #[test]
    fn event_names_client_and_remediation() {
        insta::assert_snapshot!(event(Some("kubectl-edit")).note.unwrap(), @r#""kubectl-edit" repeatedly changes fields of this object that the release manages. The operator corrects the drift with increasing delays. Find the other client with `kubectl get -o yaml --show-managed-fields` and stop it, or list the object as unmanaged in spec.overrides of ClusterVersion"#);
        assert!(event(None).note.unwrap().starts_with("Another client repeatedly changes"));
    }
}
