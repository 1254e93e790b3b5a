//! Pods in the hands of their controllers: made, deleted, adopted and released, and told about.

use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource};

use super::candidates;
use super::machinery::{Component, Recorder, Severity};
use super::owner::{self, Claim};
use crate::api::{Propagation, Refusal};
use crate::selector::LabelSelector;

/// How many pods a controller makes or deletes in one turn: others want to write, too.
pub(super) const BURST: usize = 500;

/// What did not work.
#[derive(Debug)]
pub(super) struct Failure {
    /// The word for machines.
    pub(super) reason: &'static str,
    /// What the API said.
    pub(super) refusal: Refusal,
}

/// Changes the pods of a controller, and says so.
pub(super) struct PodControl {
    component: Component,
    recorder: Recorder,
}

impl PodControl {
    pub(super) fn new(component: &Component, name: &'static str) -> Self {
        Self { component: component.clone(), recorder: Recorder::new(component.client(), name) }
    }

    pub(super) fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    pub(super) fn create(&mut self, owner: &ObjectReference, pod: &Pod) -> Result<(), Failure> {
        match self.component.client().create(pod) {
            Ok(created) => {
                let message = format!("Created pod: {}", name(&created));
                self.recorder.say(owner, Severity::Normal, "SuccessfulCreate", &message);
                Ok(())
            }
            Err(refusal) => {
                let message = format!("Error creating: {refusal}");
                self.recorder.say(owner, Severity::Warning, "FailedCreate", &message);
                Err(Failure { reason: "FailedCreate", refusal })
            }
        }
    }

    pub(super) fn delete(&mut self, owner: &ObjectReference, pod: &Pod) -> Result<(), Failure> {
        match self.component.client().delete(pod, Propagation::Background) {
            Ok(()) => {
                let message = format!("Deleted pod: {}", name(pod));
                self.recorder.say(owner, Severity::Normal, "SuccessfulDelete", &message);
                Ok(())
            }
            Err(refusal) => {
                let message = format!("Error deleting: {refusal}");
                self.recorder.say(owner, Severity::Warning, "FailedDelete", &message);
                Err(Failure { reason: "FailedDelete", refusal })
            }
        }
    }

    /// The pods that are a controller's own, some of them from now on.
    pub(super) fn claim<K>(
        &self,
        controller: &K,
        selector: &LabelSelector,
    ) -> Result<Vec<Pod>, Refusal>
    where
        K: Resource + Metadata<Ty = ObjectMeta>,
    {
        let metadata = controller.metadata();
        let mut own = Vec::new();
        for pod in candidates::list::<Pod>(&self.component, metadata, selector)? {
            let selected = owner::selects(selector, &pod.metadata);
            match owner::claim(metadata, &pod.metadata, selected) {
                Claim::Keep => own.push(pod),
                Claim::Ignore => {}
                Claim::Adopt => {
                    self.merge(&pod, owner::adoption(&pod.metadata, owner::reference(controller)))?;
                    own.push(pod);
                }
                Claim::Release => {
                    let uid = metadata.uid.as_deref().unwrap_or_default();
                    self.merge(&pod, owner::release(&pod.metadata, uid))?;
                }
            }
        }
        Ok(own)
    }

    /// Changes a pod; one that is gone needs no change.
    pub(super) fn merge(&self, pod: &Pod, patch: serde_json::Value) -> Result<(), Refusal> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        match self.component.client().merge::<Pod>(namespace, name(pod), patch) {
            Err(refusal) if refusal.code != 404 => Err(refusal),
            _ => Ok(()),
        }
    }
}

fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}
