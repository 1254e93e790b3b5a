//! Events about objects.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::{Metadata, Resource};
use serde_json::json;

use crate::api::{ApiResult, Client};

/// Number of events that a recorder remembers to count repetitions, as in client-go.
const MAX_REMEMBERED_EVENTS: usize = 4096;

/// Maximum length of a message in bytes.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Normal,
    Warning,
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Records events of a component. Repetitions increase the count of the first event.
pub(crate) struct EventRecorder {
    client: Client,
    component: &'static str,
    /// Host of the component; may be empty.
    host: String,
    recorded: BTreeMap<EventKey, RecordedEvent>,
    order: VecDeque<EventKey>,
}

/// Attributes that repetitions of an event share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EventKey {
    uid: String,
    field: String,
    severity: Severity,
    reason: String,
    message: String,
}

struct RecordedEvent {
    namespace: String,
    name: String,
    count: i32,
}

impl EventRecorder {
    pub(crate) fn new(client: &Client, component: &'static str) -> Self {
        Self {
            client: client.clone(),
            component,
            host: String::new(),
            recorded: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    /// Sets the host.
    pub(crate) fn on_host(self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self }
    }

    /// Records an event. Errors are logged and otherwise ignored.
    pub(crate) fn publish(
        &mut self,
        object: &ObjectReference,
        severity: Severity,
        reason: &str,
        message: &str,
    ) {
        let key = EventKey {
            uid: object.uid.clone().unwrap_or_default(),
            field: object.field_path.clone().unwrap_or_default(),
            severity,
            reason: reason.to_owned(),
            message: truncate(message).to_owned(),
        };
        let now = self.client.api().now();
        if let Err(error) = self.record(object, key, now) {
            tracing::debug!(component = self.component, error = %error, "event dropped");
        }
    }

    fn record(&mut self, object: &ObjectReference, key: EventKey, now: Timestamp) -> ApiResult<()> {
        if let Some(recorded) = self.recorded.get_mut(&key) {
            recorded.count = recorded.count.saturating_add(1);
            let change = json!({ "count": recorded.count, "lastTimestamp": Time(now) });
            let counted = self.client.merge::<Event>(&recorded.namespace, &recorded.name, change);
            match counted {
                Ok(_) => return Ok(()),
                Err(error) if error.code == 404 => {}
                Err(error) => return Err(error),
            }
        }
        let event = self.client.create(&self.event(object, &key, now))?;
        self.remember(key, event);
        Ok(())
    }

    fn event(&self, object: &ObjectReference, key: &EventKey, now: Timestamp) -> Event {
        let namespace = object.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let name = object.name.as_deref().unwrap_or_default();
        let (component, host) = (self.component.to_owned(), self.host.clone());
        let source_host = Some(host.clone()).filter(|host| !host.is_empty());
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            involved_object: object.clone(),
            type_: Some(key.severity.as_str().to_owned()),
            reason: Some(key.reason.clone()),
            message: Some(key.message.clone()),
            source: Some(EventSource { component: Some(component.clone()), host: source_host }),
            reporting_component: Some(component),
            reporting_instance: Some(host),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            ..Event::default()
        }
    }

    fn remember(&mut self, key: EventKey, event: Event) {
        let (namespace, name) = (event.metadata.namespace, event.metadata.name);
        let recorded = RecordedEvent {
            namespace: namespace.unwrap_or_default(),
            name: name.unwrap_or_default(),
            count: 1,
        };
        if self.recorded.insert(key.clone(), recorded).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MAX_REMEMBERED_EVENTS {
            let forgotten = self.order.pop_front();
            forgotten.and_then(|key| self.recorded.remove(&key));
        }
    }
}

fn truncate(message: &str) -> &str {
    &message[..message.floor_char_boundary(MAX_MESSAGE_BYTES)]
}

/// A reference to an object, for events about it.
pub(crate) fn object_reference<K>(object: &K) -> ObjectReference
where
    K: Resource + Metadata<Ty = ObjectMeta>,
{
    let metadata = object.metadata();
    ObjectReference {
        api_version: Some(K::API_VERSION.to_owned()),
        kind: Some(K::KIND.to_owned()),
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        field_path: None,
    }
}
