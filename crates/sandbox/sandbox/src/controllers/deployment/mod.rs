//! Deployment controller: one ReplicaSet for each template, and rollouts between them.

mod plan;
mod replica_sets;
mod scale;
mod status;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;

use self::plan::{DeploymentAction, DeploymentPlan, plan};
use self::replica_sets::{REVISION, is_new_replica_set, size};
use super::ownership;
use super::pod;
use super::runtime::{
    Component, Controller, EventRecorder, ObjectKey, Requeue, Severity, WatchEvent, WatchScope,
    object_reference,
};
use crate::api::{Api, Propagation, StatusError};
use crate::selector::LabelSelector;
use crate::store::EventKind;

pub(super) struct Deployments {
    component: Component,
    recorder: EventRecorder,
}

impl Deployments {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "deployment-controller");
        let recorder = EventRecorder::new(component.client(), "deployment-controller");
        Self { component, recorder }
    }

    /// Whether pods of old ReplicaSets still run.
    fn old_pods_run(
        &self,
        deployment: &Deployment,
        own: &[ReplicaSet],
    ) -> Result<bool, StatusError> {
        let sets = replica_sets::OwnedReplicaSets::new(deployment, own.to_vec());
        let old: Vec<_> = sets.old.iter().filter_map(|set| set.metadata.uid.clone()).collect();
        if old.is_empty() {
            return Ok(false);
        }
        let namespace = deployment.metadata.namespace.as_deref().unwrap_or_default();
        let pods = self.component.list_where::<Pod>(namespace, |pod| {
            ownership::controller_in(pod)
                .is_some_and(|(_, _, uid)| old.iter().any(|old| old == uid))
        })?;
        Ok(pods.iter().any(|pod| !pod::is_finished(pod)))
    }

    fn execute(
        &mut self,
        deployment: &Deployment,
        actions: Vec<DeploymentAction>,
    ) -> Result<(), SyncError> {
        let client = self.component.client().clone();
        for action in actions {
            match action {
                DeploymentAction::Create(set) => self.create(deployment, &set)?,
                DeploymentAction::Update(set, before) => {
                    client.update(&*set)?;
                    self.record_scaling(deployment, &set, before);
                }
                DeploymentAction::Delete(set) => client.delete(&*set, Propagation::Background)?,
                DeploymentAction::SetRevision(revision) => {
                    // Through the status subresource, so that the generation does not change.
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

    fn create(&mut self, deployment: &Deployment, set: &ReplicaSet) -> Result<(), SyncError> {
        let client = self.component.client();
        let Err(refusal) = client.create(set) else {
            self.record_scaling(deployment, set, 0);
            return Ok(());
        };
        let key = ObjectKey::of_metadata(&set.metadata);
        if refusal.reason == "AlreadyExists" {
            let found = client.get::<ReplicaSet>(&key.namespace, &key.name)?;
            return match found {
                Some(found) if is_new_replica_set(&found, deployment) => Ok(()),
                _ => Err(SyncError::Collision),
            };
        }
        let message = format!("Failed to create new replica set {:?}: {refusal}", key.name);
        let reason = "ReplicaSetCreateError";
        self.recorder.publish(&object_reference(deployment), Severity::Warning, reason, &message);
        Err(SyncError::NotCreated { message, refusal })
    }

    fn record_scaling(&mut self, deployment: &Deployment, set: &ReplicaSet, before: i32) {
        let (name, now) = (set.metadata.name.as_deref().unwrap_or_default(), size(set));
        let direction = if now > before { "up" } else { "down" };
        if now != before {
            let message = format!("Scaled {direction} replica set {name} from {before} to {now}");
            self.recorder.publish(
                &object_reference(deployment),
                Severity::Normal,
                "ScalingReplicaSet",
                &message,
            );
        }
    }

    fn write_status(
        &self,
        deployment: &Deployment,
        status: DeploymentStatus,
    ) -> Result<(), StatusError> {
        if deployment.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let key = ObjectKey::of_metadata(&deployment.metadata);
        // Reads the object again: `execute` may have written it, which must not cause a conflict.
        let Some(newest) = self.component.client().get::<Deployment>(&key.namespace, &key.name)?
        else {
            return Ok(());
        };
        self.component.client().update_status(&Deployment { status: Some(status), ..newest })?;
        Ok(())
    }
}

/// Error while executing a plan.
enum SyncError {
    /// Another object has the name of the new ReplicaSet.
    Collision,
    /// The new ReplicaSet could not be created.
    NotCreated { message: String, refusal: StatusError },
    /// Another request failed.
    Refused(StatusError),
}

impl From<StatusError> for SyncError {
    fn from(refusal: StatusError) -> Self {
        Self::Refused(refusal)
    }
}

impl Controller for Deployments {
    type Key = ObjectKey;

    const SCOPE: WatchScope =
        WatchScope::Kinds(&[("apps", "Deployment"), ("apps", "ReplicaSet"), ("", "Pod")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<ObjectKey>, StatusError> {
        if event.resource.kind != "Pod" {
            return ownership::controllers_for_event::<Deployment>(&self.component, event);
        }
        // With strategy Recreate, the rollout continues when the last old pod is deleted.
        if event.kind != EventKind::Deleted {
            return Ok(Vec::new());
        }
        let Some(("ReplicaSet", name, _)) = ownership::controller_in(&event.object) else {
            return Ok(Vec::new());
        };
        let namespace = ObjectKey::of(&event.object).namespace;
        let set = self.component.client().get::<ReplicaSet>(&namespace, name)?;
        let owner = set.as_ref().and_then(|set| ownership::controller_of(&set.metadata));
        Ok(owner.map(|owner| ObjectKey::new(&namespace, &owner.name)).into_iter().collect())
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Requeue, StatusError> {
        let client = self.component.client();
        let Some(deployment) = client.get::<Deployment>(&key.namespace, &key.name)? else {
            return Ok(Requeue::Never);
        };
        let selector = deployment.spec.as_ref().map(|spec| &spec.selector);
        let Some(Ok(selector)) = selector.map(LabelSelector::from_structured) else {
            return Ok(Requeue::Never);
        };
        let own = ownership::claim_objects(&self.component, &deployment, &selector)?;
        let old_pods_run = self.old_pods_run(&deployment, &own)?;
        let DeploymentPlan { actions, mut status, requeue_at } =
            plan(&deployment, own, old_pods_run, now);
        let result = match self.execute(&deployment, actions) {
            Ok(()) => Ok(Requeue::at(requeue_at, now)),
            Err(SyncError::Collision) => {
                status.collision_count =
                    Some(status.collision_count.unwrap_or(0).saturating_add(1));
                Ok(Requeue::Never)
            }
            Err(SyncError::NotCreated { message, refusal }) => {
                status = status::not_created(status, &deployment, message, now);
                Err(refusal)
            }
            Err(SyncError::Refused(refusal)) => return Err(refusal),
        };
        self.write_status(&deployment, status)?;
        result
    }
}
