//! Events: what components tell people about objects.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::{Metadata, Resource};
use serde_json::json;

use crate::api::{Client, Refusal};

/// How many events a recorder remembers, to count their repetitions: as many as the real one.
const REMEMBERED: usize = 4096;

/// The longest message that the API takes, in bytes.
const LONGEST_MESSAGE: usize = 1024;

/// Whether an event is good news.
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

/// Records what a component has to say. What was said before is counted instead.
pub(crate) struct Recorder {
    client: Client,
    component: &'static str,
    /// Where the component runs; empty where that says nothing.
    host: String,
    said: BTreeMap<Said, Recorded>,
    order: VecDeque<Said>,
}

/// What makes an event a repetition of another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    uid: String,
    field: String,
    severity: Severity,
    reason: String,
    message: String,
}

struct Recorded {
    namespace: String,
    name: String,
    count: i32,
}

impl Recorder {
    pub(crate) fn new(client: &Client, component: &'static str) -> Self {
        Self {
            client: client.clone(),
            component,
            host: String::new(),
            said: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    /// The same for a component of that host.
    pub(crate) fn on(self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self }
    }

    /// Says something about an object. That nobody can be told is no reason to stop working.
    pub(crate) fn say(
        &mut self,
        about: &ObjectReference,
        severity: Severity,
        reason: &str,
        message: &str,
    ) {
        let said = Said {
            uid: about.uid.clone().unwrap_or_default(),
            field: about.field_path.clone().unwrap_or_default(),
            severity,
            reason: reason.to_owned(),
            message: shortened(message).to_owned(),
        };
        let now = self.client.api().now();
        if let Err(refusal) = self.record(about, said, now) {
            tracing::debug!(component = self.component, error = %refusal, "event dropped");
        }
    }

    fn record(
        &mut self,
        about: &ObjectReference,
        said: Said,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if let Some(recorded) = self.said.get_mut(&said) {
            recorded.count = recorded.count.saturating_add(1);
            let change = json!({ "count": recorded.count, "lastTimestamp": Time(now) });
            let counted = self.client.merge::<Event>(&recorded.namespace, &recorded.name, change);
            match counted {
                Ok(_) => return Ok(()),
                Err(refusal) if refusal.code == 404 => {}
                Err(refusal) => return Err(refusal),
            }
        }
        let event = self.client.create(&self.event(about, &said, now))?;
        self.remember(said, event);
        Ok(())
    }

    fn event(&self, about: &ObjectReference, said: &Said, now: Timestamp) -> Event {
        let namespace = about.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let name = about.name.as_deref().unwrap_or_default();
        let (component, host) = (self.component.to_owned(), self.host.clone());
        let source_host = Some(host.clone()).filter(|host| !host.is_empty());
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", now.as_nanosecond())),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            involved_object: about.clone(),
            type_: Some(said.severity.as_str().to_owned()),
            reason: Some(said.reason.clone()),
            message: Some(said.message.clone()),
            source: Some(EventSource { component: Some(component.clone()), host: source_host }),
            reporting_component: Some(component),
            reporting_instance: Some(host),
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            ..Event::default()
        }
    }

    fn remember(&mut self, said: Said, event: Event) {
        let (namespace, name) = (event.metadata.namespace, event.metadata.name);
        let recorded = Recorded {
            namespace: namespace.unwrap_or_default(),
            name: name.unwrap_or_default(),
            count: 1,
        };
        if self.said.insert(said.clone(), recorded).is_none() {
            self.order.push_back(said);
        }
        while self.order.len() > REMEMBERED {
            let forgotten = self.order.pop_front();
            forgotten.and_then(|said| self.said.remove(&said));
        }
    }
}

fn shortened(message: &str) -> &str {
    &message[..message.floor_char_boundary(LONGEST_MESSAGE)]
}

/// A reference to an object, for events about it.
pub(crate) fn about<K>(object: &K) -> ObjectReference
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
