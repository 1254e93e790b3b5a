//! Contention: another client repeatedly changes the same ClusterOperator. Drift correction backs off,
//! and events report it.

use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_backoff::Backoff;
use fairway_election::Leadership;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, ResourceExt as _};
use tokio::time::{Instant, timeout};

/// Delay after a correction. It doubles with each one, so that contention does not load the API
/// server.
const REPAIR_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_mins(5) };
/// Time without a correction after which the backoff starts over.
const CONTENTION_RESET_INTERVAL: Duration = Duration::from_mins(10);
/// Corrections without a reset from which they count as contention.
const CONTENTION_THRESHOLD: u32 = 5;

/// Backoff of drift correction: the first at once, later ones with increasing delays.
#[derive(Debug, Default)]
pub(super) struct ContentionBackoff {
    latest: Option<Instant>,
    repairs: u32,
}

impl ContentionBackoff {
    /// Earliest time of the next correction.
    pub(super) fn next_repair(&self, now: Instant) -> Instant {
        let Some(latest) = self.latest.filter(|_| !self.is_over(now)) else { return now };
        latest + REPAIR_BACKOFF.after(self.repairs)
    }

    /// Records a correction; returns their number if it counts as contention.
    pub(super) fn repaired(&mut self, now: Instant) -> Option<u32> {
        let before = if self.is_over(now) { 0 } else { self.repairs };
        (self.latest, self.repairs) = (Some(now), before.saturating_add(1));
        self.is_contention().then_some(self.repairs)
    }

    /// Time at which contention ends, if nothing happens until then.
    pub(super) fn end(&self) -> Option<Instant> {
        self.latest
            .filter(|_| self.is_contention())
            .map(|latest| latest + CONTENTION_RESET_INTERVAL)
    }

    /// Resets contention that is over; returns whether there was any.
    pub(super) fn reset_if_over(&mut self, now: Instant) -> bool {
        let is_over_now = self.end().is_some_and(|peace| peace <= now);
        if is_over_now {
            *self = Self::default();
        }
        is_over_now
    }

    fn is_contention(&self) -> bool {
        self.repairs >= CONTENTION_THRESHOLD
    }

    fn is_over(&self, now: Instant) -> bool {
        let age = |latest: Instant| now.saturating_duration_since(latest);
        self.latest.is_none_or(|latest| age(latest) >= CONTENTION_RESET_INTERVAL)
    }
}

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

    /// Delays in seconds before corrections, if another client changes the status at once again.
    fn delays(
        contention: &mut ContentionBackoff,
        mut now: Instant,
        times: usize,
    ) -> (Vec<u64>, Instant) {
        let mut delays = Vec::new();
        for _ in 0..times {
            let next = contention.next_repair(now);
            delays.push((next - now).as_secs());
            now = next;
            contention.repaired(now);
        }
        (delays, now)
    }

    #[test]
    fn next_repair_backs_off() {
        let (mut contention, now) = (ContentionBackoff::default(), Instant::now());
        let (during_contention, later) = delays(&mut contention, now, 12);
        assert_eq!(during_contention, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        let (after_reset, _) = delays(&mut contention, later + CONTENTION_RESET_INTERVAL, 3);
        assert_eq!(after_reset, [0, 1, 2]);
    }

    #[test]
    fn repaired_returns_count_until_contention_ends() {
        let (mut contention, now) = (ContentionBackoff::default(), Instant::now());
        let counts: Vec<_> = (0..6).map(|_| contention.repaired(now)).collect();
        assert_eq!(counts, [None, None, None, None, Some(5), Some(6)]);
        let end = now + CONTENTION_RESET_INTERVAL;
        assert_eq!(contention.end(), Some(end));
        assert!(!contention.reset_if_over(now + CONTENTION_RESET_INTERVAL / 2));
        assert!(contention.reset_if_over(end));
        assert!(contention.end().is_none() && !contention.reset_if_over(end));
    }

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
}

#[cfg(test)]
mod herald_tests {
    use super::*;

    #[test]
    fn event_names_client_and_remediation() {
        insta::assert_snapshot!(event(Some("olm")).note.unwrap(), @r#""olm" repeatedly changes the status that the OLM guard writes to this ClusterOperator. The guard corrects it with increasing delays. If OLM itself writes this ClusterOperator, give the guard's ClusterOperator another name with --cluster-operator"#);
        assert!(event(None).note.unwrap().starts_with("Another client repeatedly changes"));
    }
}
