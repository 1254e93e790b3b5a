//! Deployments: a ReplicaSet for each template, and the way from one to the next.

mod conditions;
mod limits;
mod plan;
mod revision;
mod scale;
mod sets;
mod status;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;

use self::plan::{Action, Plan, plan};
use self::revision::REVISION;
use self::sets::{is_what_was_wanted, size};
use super::machinery::{
    Change, Component, Controller, ObjectKey, Outcome, Recorder, Scope, Severity, about,
};
use super::owner::{self, Claim};
use super::{candidates, pod};
use crate::api::{Api, Propagation, Refusal};
use crate::selector::LabelSelector;
use crate::store::EventKind;

pub(super) struct Deployments {
    component: Component,
    recorder: Recorder,
}

impl Deployments {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "deployment-controller");
        let recorder = Recorder::new(component.client(), "deployment-controller");
        Self { component, recorder }
    }

    /// The ReplicaSets that are the Deployment's own, some of them from now on.
    fn claim(
        &self,
        deployment: &Deployment,
        selector: &LabelSelector,
    ) -> Result<Vec<ReplicaSet>, Refusal> {
        let client = self.component.client();
        let mut own = Vec::new();
        for set in candidates::list::<ReplicaSet>(&self.component, &deployment.metadata, selector)?
        {
            let selected = owner::selects(selector, &set.metadata);
            let key = ObjectKey::of_metadata(&set.metadata);
            match owner::claim(&deployment.metadata, &set.metadata, selected) {
                Claim::Keep => own.push(set),
                Claim::Ignore => {}
                Claim::Adopt => {
                    let patch = owner::adoption(&set.metadata, owner::reference(deployment));
                    own.push(client.merge(&key.namespace, &key.name, patch)?);
                }
                Claim::Release => {
                    let uid = deployment.metadata.uid.as_deref().unwrap_or_default();
                    let patch = owner::release(&set.metadata, uid);
                    client.merge::<ReplicaSet>(&key.namespace, &key.name, patch)?;
                }
            }
        }
        Ok(own)
    }

    /// Whether pods of another ReplicaSet than those with the current template still run.
    fn old_pods_run(&self, deployment: &Deployment, own: &[ReplicaSet]) -> Result<bool, Refusal> {
        let sets = sets::Sets::of(deployment, own.to_vec());
        let old: Vec<_> = sets.old.iter().filter_map(|set| set.metadata.uid.clone()).collect();
        if old.is_empty() {
            return Ok(false);
        }
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        let pods = self.component.list_where::<Pod>(namespace, |pod| {
            owner::controller_in(pod).is_some_and(|(_, _, uid)| old.iter().any(|old| old == uid))
        })?;
        Ok(pods.iter().any(|pod| !pod::is_finished(pod)))
    }

    fn carry_out(&mut self, deployment: &Deployment, actions: Vec<Action>) -> Result<(), NotDone> {
        let client = self.component.client().clone();
        for action in actions {
            match action {
                Action::Create(set) => self.create(deployment, &set)?,
                Action::Update(set, before) => {
                    client.update(&*set)?;
                    self.tell_size(deployment, &set, before);
                }
                Action::Delete(set) => client.delete(&*set, Propagation::Background)?,
                Action::Mark(revision) => {
                    // With the status: what is wanted stays the same, and so does its generation.
                    let mut marked = deployment.clone();
                    let annotations = marked.metadata.annotations.get_or_insert_default();
                    annotations.insert(REVISION.to_owned(), revision);
                    marked.metadata.resource_version = None;
                    client.update_status(&marked)?;
                }
            }
        }
        Ok(())
    }

    fn create(&mut self, deployment: &Deployment, set: &ReplicaSet) -> Result<(), NotDone> {
        let client = self.component.client();
        let Err(refusal) = client.create(set) else {
            self.tell_size(deployment, set, 0);
            return Ok(());
        };
        let key = ObjectKey::of_metadata(&set.metadata);
        if refusal.reason == "AlreadyExists" {
            let found = client.get::<ReplicaSet>(&key.namespace, &key.name)?;
            return match found {
                Some(found) if is_what_was_wanted(&found, deployment) => Ok(()),
                _ => Err(NotDone::Collision),
            };
        }
        let message = format!("Failed to create new replica set {:?}: {refusal}", key.name);
        let reason = "ReplicaSetCreateError";
        self.recorder.say(&about(deployment), Severity::Warning, reason, &message);
        Err(NotDone::NotCreated { message, refusal })
    }

    fn tell_size(&mut self, deployment: &Deployment, set: &ReplicaSet, before: i32) {
        let (name, now) = (set.metadata.name.as_deref().unwrap_or_default(), size(set));
        let direction = if now > before { "up" } else { "down" };
        if now != before {
            let message = format!("Scaled {direction} replica set {name} from {before} to {now}");
            self.recorder.say(&about(deployment), Severity::Normal, "ScalingReplicaSet", &message);
        }
    }

    fn write_status(
        &self,
        deployment: &Deployment,
        status: DeploymentStatus,
    ) -> Result<(), Refusal> {
        if deployment.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let key = ObjectKey::of_metadata(&deployment.metadata);
        // What was just written to the object itself is no conflict with what was observed.
        let Some(newest) = self.component.client().get::<Deployment>(&key.namespace, &key.name)?
        else {
            return Ok(());
        };
        self.component.client().update_status(&Deployment { status: Some(status), ..newest })?;
        Ok(())
    }
}

/// Why a plan was not carried out to its end.
enum NotDone {
    /// Another ReplicaSet has the name.
    Collision,
    /// The new ReplicaSet could not be made.
    NotCreated { message: String, refusal: Refusal },
    /// Something else was refused.
    Refused(Refusal),
}

impl From<Refusal> for NotDone {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Controller for Deployments {
    type Key = ObjectKey;

    const SCOPE: Scope =
        Scope::Kinds(&[("apps", "Deployment"), ("apps", "ReplicaSet"), ("", "Pod")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn affected(&mut self, change: &Change) -> Result<Vec<ObjectKey>, Refusal> {
        if change.resource.kind != "Pod" {
            return candidates::affected::<Deployment>(&self.component, change);
        }
        // A pod is of interest only where it was the last one that had to go.
        if change.kind != EventKind::Deleted {
            return Ok(Vec::new());
        }
        let Some(("ReplicaSet", name, _)) = owner::controller_in(&change.object) else {
            return Ok(Vec::new());
        };
        let namespace = ObjectKey::of(&change.object).namespace;
        let set = self.component.client().get::<ReplicaSet>(&namespace, name)?;
        let owner = set.as_ref().and_then(|set| owner::controller_of(&set.metadata));
        Ok(owner.map(|owner| ObjectKey::new(&namespace, &owner.name)).into_iter().collect())
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Outcome, Refusal> {
        let client = self.component.client();
        let Some(deployment) = client.get::<Deployment>(&key.namespace, &key.name)? else {
            return Ok(Outcome::Done);
        };
        let selector = deployment.spec.as_ref().map(|spec| &spec.selector);
        let Some(Ok(selector)) = selector.map(LabelSelector::from_structured) else {
            return Ok(Outcome::Done);
        };
        let own = self.claim(&deployment, &selector)?;
        let old_pods_run = self.old_pods_run(&deployment, &own)?;
        let Plan { actions, mut status, again } = plan(&deployment, own, old_pods_run, now);
        let result = match self.carry_out(&deployment, actions) {
            Ok(()) => Ok(Outcome::at(again, now)),
            Err(NotDone::Collision) => {
                status.collision_count =
                    Some(status.collision_count.unwrap_or(0).saturating_add(1));
                Ok(Outcome::Done)
            }
            Err(NotDone::NotCreated { message, refusal }) => {
                status = status::not_created(status, &deployment, message, now);
                Err(refusal)
            }
            Err(NotDone::Refused(refusal)) => return Err(refusal),
        };
        self.write_status(&deployment, status)?;
        result
    }
}
