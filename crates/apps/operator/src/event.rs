//! Events about ClusterVersion.

use std::time::Duration;

use fairway_api::CLUSTER_VERSION_NAME;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::election::Leadership;
use crate::names::OPERATOR;

/// Namespace of events about cluster-scoped objects. Old API servers accept such an event only if
/// the reference to the object has this namespace, too.
pub(crate) const NAMESPACE: &str = "default";

/// Maximum bytes of a note; API servers accept 1 KiB.
const MAX_NOTE_BYTES: usize = 1000;

/// Number of events that wait to be written. They report changes of one condition, so more of them
/// mean that the API server does not answer.
const MAX_PENDING_EVENTS: usize = 16;

/// Timeout of one request; later events wait meanwhile.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// An event about ClusterVersion that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingEvent {
    pub(crate) type_: EventType,
    pub(crate) reason: &'static str,
    pub(crate) note: String,
}

impl PendingEvent {
    pub(crate) fn new(type_: EventType, reason: &'static str, note: &str) -> Self {
        Self { type_, reason, note: fairway_text::excerpt(note, MAX_NOTE_BYTES).into_owned() }
    }
}

/// Queue of events. A full queue drops events, so that callers never wait.
#[derive(Clone)]
pub(crate) struct EventRecorder(mpsc::Sender<PendingEvent>);

impl EventRecorder {
    pub(crate) fn record(&self, event: PendingEvent) {
        if let Err(error) = self.0.try_send(event) {
            tracing::warn!(%error, "event dropped");
        }
    }
}

/// Creates a recorder and the future that writes its events in order, until the last recorder is
/// dropped.
pub(crate) fn event_recorder(
    client: kube::Client,
    leadership: Leadership,
) -> (EventRecorder, impl Future<Output = ()> + Send) {
    let (sender, mut receiver) = mpsc::channel::<PendingEvent>(MAX_PENDING_EVENTS);
    let recorder = Recorder::new(client, Reporter { controller: OPERATOR.into(), instance: None });
    let about = ObjectReference {
        api_version: Some("config.openshift.io/v1".to_owned()),
        kind: Some("ClusterVersion".to_owned()),
        name: Some(CLUSTER_VERSION_NAME.to_owned()),
        namespace: Some(NAMESPACE.to_owned()),
        ..ObjectReference::default()
    };
    let write = async move {
        while let Some(PendingEvent { type_, reason, note }) = receiver.recv().await {
            let event = Event {
                type_,
                reason: reason.to_owned(),
                note: Some(note),
                action: reason.to_owned(),
                secondary: None,
            };
            // After a lost Lease, election drops this future; until then it writes nothing.
            let published = timeout(REQUEST_TIMEOUT, recorder.publish(&event, &about));
            match leadership.write(published).await {
                Ok(Ok(Ok(()))) => {}
                Ok(Ok(Err(error))) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, reason, "cannot write event");
                }
                Ok(Err(_)) => tracing::warn!(reason, "cannot write event: timed out"),
                Err(_) => return std::future::pending().await,
            }
        }
    };
    (EventRecorder(sender), write)
}
