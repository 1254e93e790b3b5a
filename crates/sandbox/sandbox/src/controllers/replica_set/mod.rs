//! ReplicaSets: as many pods as they want.

mod plan;
mod status;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;

use self::plan::{Action, plan};
use self::status::{min_ready_seconds, status};
use super::machinery::{Change, Component, Controller, ObjectKey, Outcome, Scope, about};
use super::pod_control::{Failure, PodControl};
use super::{candidates, owner, pod};
use crate::api::{Api, Refusal};
use crate::selector::LabelSelector;

pub(super) struct ReplicaSets {
    component: Component,
    pods: PodControl,
}

impl ReplicaSets {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "replicaset-controller");
        let pods = PodControl::new(&component, "replicaset-controller");
        Self { component, pods }
    }

    fn carry_out(&mut self, set: &ReplicaSet, actions: Vec<Action>) -> Result<(), Failure> {
        for action in actions {
            match action {
                Action::Create => self.pods.create(&about(set), &new_pod(set))?,
                Action::Delete(pod) => self.pods.delete(&about(set), &pod)?,
            }
        }
        Ok(())
    }
}

impl Controller for ReplicaSets {
    type Key = ObjectKey;

    const SCOPE: Scope = Scope::Kinds(&[("apps", "ReplicaSet"), ("", "Pod")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn affected(&mut self, change: &Change) -> Result<Vec<ObjectKey>, Refusal> {
        candidates::affected::<ReplicaSet>(&self.component, change)
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Outcome, Refusal> {
        let Some(set) = self.component.client().get::<ReplicaSet>(&key.namespace, &key.name)?
        else {
            return Ok(Outcome::Done);
        };
        let selector = set.spec.as_ref().map(|spec| &spec.selector);
        let Some(Ok(selector)) = selector.map(LabelSelector::from_structured) else {
            return Ok(Outcome::Done);
        };
        let mut active = self.pods.claim(&set, &selector)?;
        active.retain(pod::is_active);
        let result = self.carry_out(&set, plan(&set, &active));
        let told = result.as_ref().err();
        let told = told.map(|failure| (failure.reason, failure.refusal.to_string()));
        let status = status(&set, &active, told, now);
        if set.status.as_ref() != Some(&status) {
            let observed = ReplicaSet { status: Some(status), ..set.clone() };
            self.component.client().update_status(&observed)?;
        }
        result.map_err(|failure| failure.refusal)?;
        Ok(Outcome::at(pod::next_available(&active, min_ready_seconds(&set), now), now))
    }
}

fn new_pod(set: &ReplicaSet) -> Pod {
    let template = set.spec.as_ref().and_then(|spec| spec.template.clone()).unwrap_or_default();
    pod::from_template(&template, set.metadata.namespace.as_deref(), owner::reference(set))
}
