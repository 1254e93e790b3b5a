//! Scheduler: binds pods to nodes.

mod affinity;
mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use self::affinity::{ScheduledPod, Snapshot, has_pod_affinity};
use self::plan::{Scheduling, needs_binding, schedule};
use super::pod;
use super::runtime::{
    Component, Controller, EventRecorder, ObjectKey, Requeue, Severity, WatchEvent, WatchScope,
    object_reference,
};
use crate::api::{Api, StatusError};
use crate::catalog::Subresource;

const SCHEDULED: &str = "PodScheduled";

pub(super) struct Scheduler {
    component: Component,
    recorder: EventRecorder,
    /// Unschedulable pods with pod affinity, which are retried when other pods are bound.
    waiting_for_pods: BTreeSet<ObjectKey>,
}

impl Scheduler {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::new(api, "system:kube-scheduler");
        let recorder = EventRecorder::new(component.client(), "default-scheduler");
        Self { component, recorder, waiting_for_pods: BTreeSet::new() }
    }

    /// Reads the pods, nodes and namespaces that scheduling depends on.
    fn snapshot(&self) -> Result<Snapshot, StatusError> {
        let named = |object: Arc<Value>| (ObjectKey::of(&object).name, object);
        let nodes = self.component.client().list::<Node>("")?.into_iter();
        Ok(Snapshot {
            pods: self.component.list_all::<Pod>()?.iter().filter_map(ScheduledPod::new).collect(),
            nodes: nodes.map(|it| (it.metadata.name.clone().unwrap_or_default(), it)).collect(),
            namespaces: self.component.list_all::<Namespace>()?.into_iter().map(named).collect(),
        })
    }

    fn bind(&mut self, pod: &Pod, node: &str) -> Result<(), StatusError> {
        let key = ObjectKey::of_metadata(&pod.metadata);
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "name": key.name, "namespace": key.namespace, "uid": pod.metadata.uid },
            "target": { "kind": "Node", "name": node },
        });
        self.component.create_subresource::<Pod>(&key, Subresource::Binding, binding)?;
        let message = format!("Successfully assigned {key} to {node}");
        self.recorder.publish(&object_reference(pod), Severity::Normal, "Scheduled", &message);
        Ok(())
    }

    fn mark_unschedulable(
        &mut self,
        pod: &Pod,
        why: &str,
        now: Timestamp,
    ) -> Result<(), StatusError> {
        let Some(waiting) = with_condition(pod, why, now) else { return Ok(()) };
        self.component.client().update_status(&waiting)?;
        self.recorder.publish(&object_reference(pod), Severity::Warning, "FailedScheduling", why);
        Ok(())
    }
}

impl Controller for Scheduler {
    type Key = ObjectKey;

    const SCOPE: WatchScope = WatchScope::Kinds(&[("", "Pod"), ("", "Node")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<ObjectKey>, StatusError> {
        let waits = |pod: &Value| text(pod, "/spec/nodeName").is_empty();
        match event.resource.kind.as_str() {
            "Node" => self.component.list_keys::<Pod>("", waits),
            _ if waits(&event.object) => Ok(vec![ObjectKey::of(&event.object)]),
            _ => Ok(self.waiting_for_pods.iter().cloned().collect()),
        }
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Requeue, StatusError> {
        self.waiting_for_pods.remove(key);
        let Some(pod) = self.component.client().get::<Pod>(&key.namespace, &key.name)? else {
            return Ok(Requeue::Never);
        };
        if !pod::is_active(&pod) || !pod.spec.as_ref().is_some_and(needs_binding) {
            return Ok(Requeue::Never);
        }
        match schedule(&pod, &self.snapshot()?) {
            Scheduling::Bind(node) => self.bind(&pod, &node)?,
            Scheduling::Unschedulable(why) => {
                if has_pod_affinity(&pod) {
                    self.waiting_for_pods.insert(key.clone());
                }
                self.mark_unschedulable(&pod, &why, now)?;
            }
        }
        Ok(Requeue::Never)
    }
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// The pod with the `PodScheduled=False` condition; `None` if it is unchanged.
fn with_condition(pod: &Pod, why: &str, now: Timestamp) -> Option<Pod> {
    let known = pod::condition(pod, SCHEDULED);
    let same =
        |known: &PodCondition| known.status == "False" && known.message.as_deref() == Some(why);
    if known.is_some_and(same) {
        return None;
    }
    let since = known.filter(|known| known.status == "False");
    let since = since.and_then(|known| known.last_transition_time.clone());
    let condition = PodCondition {
        type_: SCHEDULED.to_owned(),
        status: "False".to_owned(),
        reason: Some("Unschedulable".to_owned()),
        message: Some(why.to_owned()),
        last_transition_time: since.or(Some(Time(now))),
        ..PodCondition::default()
    };
    let mut pod = pod.clone();
    let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
    conditions.retain(|known| known.type_ != SCHEDULED);
    conditions.push(condition);
    Some(pod)
}
