//! Jobs: pods that are to end well.

mod back_off;
mod conditions;
mod plan;
mod status;
#[cfg(test)]
mod tests;
mod tracking;
mod verdict;
mod view;

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use self::back_off::BackOff;
use self::plan::{Action, Plan, aftermath, plan};
use self::status::News;
use self::tracking::{FINALIZER, is_tracked};
use super::machinery::{Change, Component, Controller, ObjectKey, Outcome, Scope, Severity, about};
use super::pod_control::{Failure, PodControl};
use super::{candidates, owner, pod};
use crate::api::{Api, Propagation, Refusal};
use crate::selector::LabelSelector;

/// Whose Jobs these are, unless a Job says otherwise.
const NAME: &str = "kubernetes.io/job-controller";
/// Names the Job of a pod.
const JOB_NAME_LABEL: &str = "batch.kubernetes.io/job-name";

pub(super) struct Jobs {
    component: Component,
    pods: PodControl,
    back_offs: BTreeMap<ObjectKey, BackOff>,
}

impl Jobs {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "job-controller");
        let pods = PodControl::new(&component, "job-controller");
        Self { component, pods, back_offs: BTreeMap::new() }
    }

    /// The pods that are the Job's own, some of them from now on.
    fn claim(&self, job: &Job) -> Result<Vec<Pod>, Refusal> {
        let selector = job.spec.as_ref().and_then(|spec| spec.selector.clone()).unwrap_or_default();
        match LabelSelector::from_structured(&selector) {
            Ok(selector) => self.pods.claim(job, &selector),
            Err(_) => Ok(Vec::new()),
        }
    }

    fn carry_out(&mut self, job: &Job, actions: Vec<Action>) -> Result<(), Failure> {
        let job_reference = about(job);
        for action in actions {
            match action {
                Action::Create => self.pods.create(&job_reference, &new_pod(job))?,
                Action::Stop(pod) => self.pods.delete(&job_reference, &pod)?,
                Action::Dismiss(pod) => {
                    let untracked = self.untrack(&pod);
                    untracked.map_err(|refusal| Failure { reason: "FailedDelete", refusal })?;
                    self.pods.delete(&job_reference, &pod)?;
                }
            }
        }
        Ok(())
    }

    fn untrack(&self, pod: &Pod) -> Result<(), Refusal> {
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

    fn tell(&mut self, job: &Job, news: &News) {
        let (severity, reason, message) = match news {
            News::Completed => (Severity::Normal, "Completed", "Job completed"),
            News::Failed(reason, message) => (Severity::Warning, reason.as_str(), message.as_str()),
            News::Suspended => (Severity::Normal, "Suspended", "Job suspended"),
            News::Resumed => (Severity::Normal, "Resumed", "Job resumed"),
        };
        self.pods.recorder().say(&about(job), severity, reason, message);
    }

    /// Pods are not kept for a Job that is gone.
    fn forget(&mut self, key: &ObjectKey) -> Result<Outcome, Refusal> {
        self.back_offs.remove(key);
        let is_of = |pod: &Value| match owner::controller_in(pod) {
            Some((kind, name, _)) => kind == "Job" && name == key.name,
            None => job_name(pod) == Some(&key.name),
        };
        let pods = self.component.list_where::<Pod>(&key.namespace, is_of)?;
        pods.iter().try_for_each(|pod| self.untrack(pod))?;
        Ok(Outcome::Done)
    }

    fn clean_up(&mut self, job: &Job, now: Timestamp) -> Result<Outcome, Refusal> {
        self.back_offs.remove(&ObjectKey::of_metadata(&job.metadata));
        let (marked, expires) = aftermath(job, &self.claim(job)?);
        marked.iter().try_for_each(|pod| self.untrack(pod))?;
        let leaving = job.metadata.deletion_timestamp.is_some();
        if !leaving && expires.is_some_and(|expires| expires <= now) {
            self.component.client().delete(job, Propagation::Foreground)?;
            return Ok(Outcome::Done);
        }
        Ok(if leaving { Outcome::Done } else { Outcome::at(expires, now) })
    }

    fn go_on(&mut self, key: &ObjectKey, job: &Job, now: Timestamp) -> Result<Outcome, Refusal> {
        let own = self.claim(job)?;
        let known = self.back_offs.get(key).copied().unwrap_or_default();
        let Plan { actions, mut status, untrack, back_off, news, again } =
            plan(job, &own, known, now);
        let done = self.carry_out(job, actions);
        if done.is_err() {
            let active = own.iter().filter(|pod| pod::is_active(pod)).count();
            status.active = i32::try_from(active).ok().filter(|active| *active != 0);
        }
        if job.status.as_ref() != Some(&status) {
            let written = Job { status: Some(status), ..job.clone() };
            self.component.client().update_status(&written)?;
        }
        self.back_offs.insert(key.clone(), back_off);
        for news in &news {
            self.tell(job, news);
        }
        untrack.iter().try_for_each(|pod| self.untrack(pod))?;
        done.map_err(|failure| failure.refusal)?;
        Ok(Outcome::at(again, now))
    }
}

impl Controller for Jobs {
    type Key = ObjectKey;

    const SCOPE: Scope = Scope::Kinds(&[("batch", "Job"), ("", "Pod")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn affected(&mut self, change: &Change) -> Result<Vec<ObjectKey>, Refusal> {
        let mut keys = candidates::affected::<Job>(&self.component, change)?;
        if change.resource.kind == "Pod" && owner::controller_in(&change.object).is_none() {
            let namespace = ObjectKey::of(&change.object).namespace;
            keys.extend(job_name(&change.object).map(|name| ObjectKey::new(&namespace, name)));
        }
        Ok(keys)
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Outcome, Refusal> {
        let Some(job) = self.component.client().get::<Job>(&key.namespace, &key.name)? else {
            return self.forget(key);
        };
        let spec = job.spec.clone().unwrap_or_default();
        if spec.managed_by.as_deref().is_some_and(|manager| manager != NAME) {
            return Ok(Outcome::Done);
        }
        if conditions::is_finished(&job) {
            return self.clean_up(&job, now);
        }
        if let Some(what) = beyond_us(&spec) {
            let message = format!("The sandbox does not run Jobs with {what}");
            self.pods.recorder().say(&about(&job), Severity::Warning, "Unsupported", &message);
            return Ok(Outcome::Done);
        }
        self.go_on(key, &job, now)
    }
}

/// What a Job asks for that is not known here. Doing half of it would be worse than nothing.
fn beyond_us(spec: &JobSpec) -> Option<&'static str> {
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
    let mut pod = pod::from_template(&template, namespace, owner::reference(job));
    pod.metadata.finalizers.get_or_insert_default().push(FINALIZER.to_owned());
    pod
}

/// The Job of a tracked pod, as its label tells it.
fn job_name(pod: &Value) -> Option<&str> {
    let finalizers = pod.pointer("/metadata/finalizers")?.as_array()?;
    finalizers.iter().find(|finalizer| **finalizer == FINALIZER)?;
    pod.pointer("/metadata/labels")?.get(JOB_NAME_LABEL)?.as_str()
}
