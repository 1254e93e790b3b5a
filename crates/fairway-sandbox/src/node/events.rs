//! Events: what a node tells people about a pod.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::json;

use crate::api::Client;

/// The longest message that the API takes, in bytes.
const LONGEST_MESSAGE: usize = 1024;
/// More different things than this nobody says about one pod.
const MOST_REMEMBERED: usize = 256;

/// Tells about one pod. What was said before is counted instead.
pub(crate) struct Events {
    client: Client,
    node: String,
    about: ObjectReference,
    said: BTreeMap<(String, String), (String, i32)>,
}

impl Events {
    pub(crate) fn new(client: &Client, node: &str, pod: &Pod) -> Self {
        let metadata = &pod.metadata;
        let about = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone(),
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
            field_path: None,
        };
        let (client, node, said) = (client.clone(), node.to_owned(), BTreeMap::new());
        Self { client, node, about, said }
    }

    pub(crate) fn normal(&mut self, container: &str, reason: &str, message: &str) {
        self.say("Normal", container, reason, message);
    }

    pub(crate) fn warning(&mut self, container: &str, reason: &str, message: &str) {
        self.say("Warning", container, reason, message);
    }

    /// That nobody can be told is no reason to stop working.
    fn say(&mut self, severity: &str, container: &str, reason: &str, message: &str) {
        let now = Time(self.client.api().now());
        let message = &message[..message.floor_char_boundary(LONGEST_MESSAGE)];
        let field = (!container.is_empty()).then(|| format!("spec.containers{{{container}}}"));
        let key = (field.clone().unwrap_or_default(), format!("{reason} {message}"));
        let namespace = self.about.namespace.clone().unwrap_or_default();
        if let Some((name, count)) = self.said.get_mut(&key) {
            *count = count.saturating_add(1);
            let change = json!({ "count": count, "lastTimestamp": now });
            if self.client.merge::<Event>(&namespace, name, change).is_ok() {
                return;
            }
        }
        let pod = self.about.name.as_deref().unwrap_or_default();
        let name = format!("{pod}.{:x}", now.0.as_nanosecond());
        let event = Event {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            involved_object: ObjectReference { field_path: field, ..self.about.clone() },
            type_: Some(severity.to_owned()),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            source: Some(EventSource {
                component: Some("kubelet".to_owned()),
                host: Some(self.node.clone()),
            }),
            reporting_component: Some("kubelet".to_owned()),
            reporting_instance: Some(self.node.clone()),
            count: Some(1),
            first_timestamp: Some(now.clone()),
            last_timestamp: Some(now),
            ..Event::default()
        };
        match self.client.create(&event) {
            Ok(_) if self.said.len() < MOST_REMEMBERED => drop(self.said.insert(key, (name, 1))),
            Ok(_) => {}
            Err(refusal) => tracing::debug!(%refusal, "an event is lost"),
        }
    }
}
