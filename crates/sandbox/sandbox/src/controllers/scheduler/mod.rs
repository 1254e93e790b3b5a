//! The scheduler: pods get nodes.

mod neighbours;
mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use self::neighbours::{Neighbour, Neighbourhood, cares_about_others};
use self::plan::{Decision, decide, is_waiting};
use super::machinery::{
    Change, Component, Controller, ObjectKey, Outcome, Recorder, Scope, Severity, about,
};
use super::pod;
use crate::api::{Api, Refusal};
use crate::catalog::Subresource;

const SCHEDULED: &str = "PodScheduled";

pub(super) struct Scheduler {
    component: Component,
    recorder: Recorder,
    /// The pods that wait, and to whom it matters which others have nodes.
    sociable: BTreeSet<ObjectKey>,
}

impl Scheduler {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::new(api, "system:kube-scheduler");
        let recorder = Recorder::new(component.client(), "default-scheduler");
        Self { component, recorder, sociable: BTreeSet::new() }
    }

    /// What there is in the cluster for a pod to live with.
    fn neighbourhood(&self) -> Result<Neighbourhood, Refusal> {
        let named = |object: Arc<Value>| (ObjectKey::of(&object).name, object);
        let nodes = self.component.client().list::<Node>("")?.into_iter();
        Ok(Neighbourhood {
            neighbours: self
                .component
                .list_all::<Pod>()?
                .iter()
                .filter_map(Neighbour::of)
                .collect(),
            nodes: nodes.map(|it| (it.metadata.name.clone().unwrap_or_default(), it)).collect(),
            namespaces: self.component.list_all::<Namespace>()?.into_iter().map(named).collect(),
        })
    }

    fn place(&mut self, pod: &Pod, node: &str) -> Result<(), Refusal> {
        let key = ObjectKey::of_metadata(&pod.metadata);
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": { "name": key.name, "namespace": key.namespace, "uid": pod.metadata.uid },
            "target": { "kind": "Node", "name": node },
        });
        self.component.create_below::<Pod>(&key, Subresource::Binding, binding)?;
        let message = format!("Successfully assigned {key} to {node}");
        self.recorder.say(&about(pod), Severity::Normal, "Scheduled", &message);
        Ok(())
    }

    fn leave_waiting(&mut self, pod: &Pod, why: &str, now: Timestamp) -> Result<(), Refusal> {
        let Some(waiting) = with_condition(pod, why, now) else { return Ok(()) };
        self.component.client().update_status(&waiting)?;
        self.recorder.say(&about(pod), Severity::Warning, "FailedScheduling", why);
        Ok(())
    }
}

impl Controller for Scheduler {
    type Key = ObjectKey;

    const SCOPE: Scope = Scope::Kinds(&[("", "Pod"), ("", "Node")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn affected(&mut self, change: &Change) -> Result<Vec<ObjectKey>, Refusal> {
        let waits = |pod: &Value| text(pod, "/spec/nodeName").is_empty();
        match change.resource.kind.as_str() {
            "Node" => self.component.keys_where::<Pod>("", waits),
            _ if waits(&change.object) => Ok(vec![ObjectKey::of(&change.object)]),
            _ => Ok(self.sociable.iter().cloned().collect()),
        }
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Outcome, Refusal> {
        self.sociable.remove(key);
        let Some(pod) = self.component.client().get::<Pod>(&key.namespace, &key.name)? else {
            return Ok(Outcome::Done);
        };
        if !pod::is_active(&pod) || !pod.spec.as_ref().is_some_and(is_waiting) {
            return Ok(Outcome::Done);
        }
        match decide(&pod, &self.neighbourhood()?) {
            Decision::Place(node) => self.place(&pod, &node)?,
            Decision::Wait(why) => {
                if cares_about_others(&pod) {
                    self.sociable.insert(key.clone());
                }
                self.leave_waiting(&pod, &why, now)?;
            }
        }
        Ok(Outcome::Done)
    }
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

/// The pod with the condition that says why it waits; `None` if it says so already.
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
