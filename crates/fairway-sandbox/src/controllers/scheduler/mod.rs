//! The scheduler: pods get nodes.

mod plan;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

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
}

impl Scheduler {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::new(api, "system:kube-scheduler");
        let recorder = Recorder::new(component.client(), "default-scheduler");
        Self { component, recorder }
    }

    /// How many pods there are on each node.
    fn crowds(&self) -> Result<BTreeMap<String, usize>, Refusal> {
        let mut crowds = BTreeMap::new();
        for pod in self.component.list_all::<Pod>()? {
            let node = text(&pod, "/spec/nodeName");
            if !node.is_empty() && !matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed") {
                *crowds.entry(node.to_owned()).or_default() += 1;
            }
        }
        Ok(crowds)
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
            _ => Ok(Vec::new()),
        }
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Outcome, Refusal> {
        let client = self.component.client();
        let Some(pod) = client.get::<Pod>(&key.namespace, &key.name)? else {
            return Ok(Outcome::Done);
        };
        let Some(spec) = pod.spec.as_ref().filter(|spec| is_waiting(spec)) else {
            return Ok(Outcome::Done);
        };
        if !pod::is_active(&pod) {
            return Ok(Outcome::Done);
        }
        match decide(spec, &client.list::<Node>("")?, &self.crowds()?) {
            Decision::Place(node) => self.place(&pod, &node)?,
            Decision::Wait(why) => self.leave_waiting(&pod, &why, now)?,
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
