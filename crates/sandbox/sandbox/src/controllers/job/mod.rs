//! Job controller: runs pods until enough of them succeed.

mod plan;
mod status;
#[cfg(test)]
mod tests;
mod tracking;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use self::plan::{Backoff, JobAction, JobPlan, after_finish, plan};
use self::status::JobEvent;
use self::tracking::{FINALIZER, is_tracked};
use super::pod::{PodControl, PodControlError};
use super::runtime::{
    Component, Controller, ObjectKey, Requeue, Severity, WatchEvent, WatchScope, object_reference,
};
use super::{ownership, pod};
use crate::api::{Api, Propagation, StatusError};
use crate::selector::LabelSelector;

/// Name of this controller in `spec.managedBy`.
const NAME: &str = "kubernetes.io/job-controller";
/// Label of pods with the name of their Job.
const JOB_NAME_LABEL: &str = "batch.kubernetes.io/job-name";

pub(super) struct Jobs {
    component: Component,
    pods: PodControl,
    backoffs: BTreeMap<ObjectKey, Backoff>,
}

impl Jobs {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "job-controller");
        let pods = PodControl::new(&component, "job-controller");
        Self { component, pods, backoffs: BTreeMap::new() }
    }

    /// The pods that the Job owns, after adopting and releasing.
    fn claim(&self, job: &Job) -> Result<Vec<Pod>, StatusError> {
        let selector = job.spec.as_ref().and_then(|spec| spec.selector.clone()).unwrap_or_default();
        match LabelSelector::from_structured(&selector) {
            Ok(selector) => ownership::claim_objects(&self.component, job, &selector),
            Err(_) => Ok(Vec::new()),
        }
    }

    fn execute(&mut self, job: &Job, actions: Vec<JobAction>) -> Result<(), PodControlError> {
        let job_reference = object_reference(job);
        for action in actions {
            match action {
                JobAction::Create => self.pods.create(&job_reference, &new_pod(job))?,
                JobAction::DeleteAsFailed(pod) => self.pods.delete(&job_reference, &pod)?,
                JobAction::Discard(pod) => {
                    let untracked = self.untrack(&pod);
                    untracked
                        .map_err(|refusal| PodControlError { reason: "FailedDelete", refusal })?;
                    self.pods.delete(&job_reference, &pod)?;
                }
            }
        }
        Ok(())
    }

    fn untrack(&self, pod: &Pod) -> Result<(), StatusError> {
        if !is_tracked(pod) {
            return Ok(());
        }
        let finalizers = pod.metadata.finalizers.iter().flatten();
        let others: Vec<_> = finalizers.filter(|finalizer| *finalizer != FINALIZER).collect();
        self.pods.merge(
            pod,
            json!({ "metadata": {
            "uid": pod.metadata.uid,
            "resourceVersion": pod.metadata.resource_version,
            "finalizers": others,
        } }),
        )
    }

    fn record(&mut self, job: &Job, event: &JobEvent) {
        let (severity, reason, message) = match event {
            JobEvent::Completed => (Severity::Normal, "Completed", "Job completed"),
            JobEvent::Failed(reason, message) => {
                (Severity::Warning, reason.as_str(), message.as_str())
            }
            JobEvent::Suspended => (Severity::Normal, "Suspended", "Job suspended"),
            JobEvent::Resumed => (Severity::Normal, "Resumed", "Job resumed"),
        };
        self.pods.recorder().publish(&object_reference(job), severity, reason, message);
    }

    /// Removes the tracking finalizer from pods of a deleted Job.
    fn release_pods(&mut self, key: &ObjectKey) -> Result<Requeue, StatusError> {
        self.backoffs.remove(key);
        let is_of = |pod: &Value| match ownership::controller_in(pod) {
            Some((kind, name, _)) => kind == "Job" && name == key.name,
            None => job_name(pod) == Some(&key.name),
        };
        let pods = self.component.list_where::<Pod>(&key.namespace, is_of)?;
        pods.iter().try_for_each(|pod| self.untrack(pod))?;
        Ok(Requeue::Never)
    }

    fn sync_finished(&mut self, job: &Job, now: Timestamp) -> Result<Requeue, StatusError> {
        self.backoffs.remove(&ObjectKey::of_metadata(&job.metadata));
        let (marked, expires) = after_finish(job, &self.claim(job)?);
        marked.iter().try_for_each(|pod| self.untrack(pod))?;
        let deleting = job.metadata.deletion_timestamp.is_some();
        if !deleting && expires.is_some_and(|expires| expires <= now) {
            self.component.client().delete(job, Propagation::Foreground)?;
            return Ok(Requeue::Never);
        }
        Ok(if deleting { Requeue::Never } else { Requeue::at(expires, now) })
    }

    fn sync_active(
        &mut self,
        key: &ObjectKey,
        job: &Job,
        now: Timestamp,
    ) -> Result<Requeue, StatusError> {
        let own = self.claim(job)?;
        let known = self.backoffs.get(key).copied().unwrap_or_default();
        let JobPlan { actions, mut status, untrack, backoff, events, requeue_at } =
            plan(job, &own, known, now);
        let done = self.execute(job, actions);
        if done.is_err() {
            let active = own.iter().filter(|pod| pod::is_active(pod)).count();
            status.active = i32::try_from(active).ok().filter(|active| *active != 0);
        }
        if job.status.as_ref() != Some(&status) {
            let written = Job { status: Some(status), ..job.clone() };
            self.component.client().update_status(&written)?;
        }
        self.backoffs.insert(key.clone(), backoff);
        for event in &events {
            self.record(job, event);
        }
        untrack.iter().try_for_each(|pod| self.untrack(pod))?;
        done.map_err(|failure| failure.refusal)?;
        Ok(Requeue::at(requeue_at, now))
    }
}

impl Controller for Jobs {
    type Key = ObjectKey;

    const SCOPE: WatchScope = WatchScope::Kinds(&[("batch", "Job"), ("", "Pod")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<ObjectKey>, StatusError> {
        let mut keys = ownership::controllers_for_event::<Job>(&self.component, event)?;
        if event.resource.kind == "Pod" && ownership::controller_in(&event.object).is_none() {
            let namespace = ObjectKey::of(&event.object).namespace;
            keys.extend(job_name(&event.object).map(|name| ObjectKey::new(&namespace, name)));
        }
        Ok(keys)
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Requeue, StatusError> {
        let Some(job) = self.component.client().get::<Job>(&key.namespace, &key.name)? else {
            return self.release_pods(key);
        };
        let spec = job.spec.clone().unwrap_or_default();
        if spec.managed_by.as_deref().is_some_and(|manager| manager != NAME) {
            return Ok(Requeue::Never);
        }
        if status::is_finished(&job) {
            return self.sync_finished(&job, now);
        }
        if let Some(what) = unsupported_feature(&spec) {
            let message = format!("The sandbox does not run Jobs with {what}");
            self.pods.recorder().publish(
                &object_reference(&job),
                Severity::Warning,
                "Unsupported",
                &message,
            );
            return Ok(Requeue::Never);
        }
        self.sync_active(key, &job, now)
    }
}

/// A field of the Job that the sandbox does not implement. The Job is not run, as partial support
/// would produce wrong results.
fn unsupported_feature(spec: &JobSpec) -> Option<&'static str> {
    [
        (spec.completion_mode.as_deref() == Some("Indexed"), "completionMode Indexed"),
        (spec.pod_failure_policy.is_some(), "a podFailurePolicy"),
        (spec.success_policy.is_some(), "a successPolicy"),
    ]
    .into_iter()
    .find_map(|(asked, what)| asked.then_some(what))
}

fn new_pod(job: &Job) -> Pod {
    let template = job.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
    let namespace = job.metadata.namespace.as_deref();
    let mut pod = pod::from_template(&template, namespace, ownership::reference(job));
    pod.metadata.finalizers.get_or_insert_default().push(FINALIZER.to_owned());
    pod
}

/// The Job of a tracked pod, from its label.
fn job_name(pod: &Value) -> Option<&str> {
    let finalizers = pod.pointer("/metadata/finalizers")?.as_array()?;
    finalizers.iter().find(|finalizer| **finalizer == FINALIZER)?;
    pod.pointer("/metadata/labels")?.get(JOB_NAME_LABEL)?.as_str()
}
