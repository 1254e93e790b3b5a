//! DaemonSet controller: one pod on each eligible node.

mod plan;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Node, Pod};

use self::plan::{DaemonSetAction, HASH_LABEL, has_surge, hash, only_on, plan, pod_spec};
use super::pod::{PodControl, PodControlError};
use super::runtime::{
    Component, Controller, ObjectKey, Requeue, Severity, WatchEvent, WatchScope, object_reference,
};
use super::{ownership, pod};
use crate::api::{Api, StatusError};
use crate::selector::LabelSelector;

/// Counts the templates of a DaemonSet.
const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";
/// Label of pods with the template generation.
const GENERATION_LABEL: &str = "pod-template-generation";

pub(super) struct DaemonSets {
    component: Component,
    pods: PodControl,
}

impl DaemonSets {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "daemon-set-controller");
        let pods = PodControl::new(&component, "daemonset-controller");
        Self { component, pods }
    }

    fn execute(
        &mut self,
        set: &DaemonSet,
        actions: Vec<DaemonSetAction>,
    ) -> Result<(), PodControlError> {
        for action in actions {
            match action {
                DaemonSetAction::Create(node) => {
                    self.pods.create(&object_reference(set), &new_pod(set, &node))?;
                }
                DaemonSetAction::Delete(pod) => self.pods.delete(&object_reference(set), &pod)?,
            }
        }
        Ok(())
    }

    fn record_unsupported(&mut self, set: &DaemonSet) {
        if has_surge(set) {
            let message = "The sandbox does not update DaemonSets with maxSurge";
            self.pods.recorder().publish(
                &object_reference(set),
                Severity::Warning,
                "Unsupported",
                message,
            );
        }
    }
}

impl Controller for DaemonSets {
    type Key = ObjectKey;

    const SCOPE: WatchScope =
        WatchScope::Kinds(&[("apps", "DaemonSet"), ("", "Pod"), ("", "Node")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<ObjectKey>, StatusError> {
        match event.resource.kind.as_str() {
            "Node" => self.component.list_keys::<DaemonSet>("", |_| true),
            _ => ownership::controllers_for_event::<DaemonSet>(&self.component, event),
        }
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Requeue, StatusError> {
        let client = self.component.client().clone();
        let Some(set) = client.get::<DaemonSet>(&key.namespace, &key.name)? else {
            return Ok(Requeue::Never);
        };
        let selector = set.spec.as_ref().map(|spec| &spec.selector);
        let Some(Ok(selector)) = selector.map(LabelSelector::from_structured) else {
            return Ok(Requeue::Never);
        };
        let own = ownership::claim_objects(&self.component, &set, &selector)?;
        let plan = plan(&set, &client.list::<Node>("")?, own, now);
        let result = self.execute(&set, plan.actions);
        if set.status.as_ref() != Some(&plan.status) {
            client.update_status(&DaemonSet { status: Some(plan.status), ..set.clone() })?;
            self.record_unsupported(&set);
        }
        result.map_err(|failure| failure.refusal)?;
        Ok(Requeue::at(plan.requeue_at, now))
    }
}

fn new_pod(set: &DaemonSet, node: &str) -> Pod {
    let template = set.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let namespace = set.metadata.namespace.as_deref();
    let mut pod = pod::from_template(&template, namespace, ownership::reference(set));
    pod.spec = Some(only_on(pod_spec(set), node));
    let labels = pod.metadata.labels.get_or_insert_default();
    labels.insert(HASH_LABEL.to_owned(), hash(set));
    let generation = set.metadata.annotations.as_ref();
    if let Some(generation) = generation.and_then(|all| all.get(GENERATION_ANNOTATION)) {
        labels.insert(GENERATION_LABEL.to_owned(), generation.clone());
    }
    pod
}
