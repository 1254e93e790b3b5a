//! Events: what people are told about ClusterVersion, when it happens.

use std::time::Duration;

use fairway_api::CLUSTER_VERSION_NAME;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::election::Leadership;
use crate::names::OPERATOR;

/// Where events are about objects without a namespace. Old API servers take such an event only if
/// the object is said to be there, too.
pub(crate) const NAMESPACE: &str = "default";

/// Bytes of what an event says; API servers take 1 KiB.
const NOTE: usize = 1000;

/// Events that are not written yet. They tell about changes of one condition: whoever cannot write
/// that many has other worries.
const BACKLOG: usize = 16;

/// How long an API server may take for one: the next ones wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Something that people may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) type_: EventType,
    pub(crate) reason: &'static str,
    pub(crate) note: String,
}

impl Told {
    pub(crate) fn new(type_: EventType, reason: &'static str, note: &str) -> Self {
        Self { type_, reason, note: fairway_text::excerpt(note, NOTE).into_owned() }
    }
}

/// Where events are put.
#[derive(Clone)]
pub(crate) struct Announcer(mpsc::Sender<Told>);

impl Announcer {
    pub(crate) fn tell(&self, told: Told) {
        if let Err(error) = self.0.try_send(told) {
            tracing::warn!(%error, "event dropped");
        }
    }
}

/// Writes events, one after the other, for as long as there is somebody who tells them. Whoever
/// tells them does not wait.
pub(crate) fn announcer(
    client: kube::Client,
    leadership: Leadership,
) -> (Announcer, impl Future<Output = ()> + Send) {
    let (sender, mut receiver) = mpsc::channel::<Told>(BACKLOG);
    let recorder = Recorder::new(client, Reporter { controller: OPERATOR.into(), instance: None });
    let about = ObjectReference {
        api_version: Some("config.openshift.io/v1".to_owned()),
        kind: Some("ClusterVersion".to_owned()),
        name: Some(CLUSTER_VERSION_NAME.to_owned()),
        namespace: Some(NAMESPACE.to_owned()),
        ..ObjectReference::default()
    };
    let write = async move {
        while let Some(Told { type_, reason, note }) = receiver.recv().await {
            let event = Event {
                type_,
                reason: reason.to_owned(),
                note: Some(note),
                action: reason.to_owned(),
                secondary: None,
            };
            // Who leads no more is dropped by the election, and until then writes nothing.
            let published = timeout(PATIENCE, recorder.publish(&event, &about));
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
    (Announcer(sender), write)
}
