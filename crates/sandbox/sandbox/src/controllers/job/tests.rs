use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::plan::{Backoff, JobAction, JobPlan, plan};
use super::status::{JobEvent, is_finished};
use super::tracking::{FINALIZER, is_tracked};
use crate::controllers::pod;

const START: &str = "2026-01-01T00:00:00Z";

fn start() -> Timestamp {
    START.parse().unwrap()
}

fn after(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

fn job(spec: &Value) -> Job {
    let mut object = json!({
        "metadata": { "name": "work", "namespace": "n", "uid": "j", "generation": 1 },
        "spec": {
            "parallelism": 1, "completions": 1, "backoffLimit": 6,
            "template": { "spec": { "containers": [], "restartPolicy": "Never" } },
        },
    });
    json_patch::merge(&mut object["spec"], spec);
    if spec["completions"] == "none" {
        object["spec"]["completions"] = json!(null);
    }
    serde_json::from_value(object).unwrap()
}

/// A Job and its pods, whose plans are executed in memory.
struct Simulation {
    job: Job,
    pods: Vec<Pod>,
    created: usize,
    backoff: Backoff,
    now: Timestamp,
    events: Vec<JobEvent>,
}

impl Simulation {
    fn new(job: Job) -> Self {
        let (pods, events) = (Vec::new(), Vec::new());
        Self { job, pods, created: 0, backoff: Backoff::default(), now: start(), events }
    }

    fn step(&mut self) -> JobPlan {
        let plan = plan(&self.job, &self.pods, self.backoff, self.now);
        for action in plan.actions.clone() {
            match action {
                JobAction::Create => self.create(),
                JobAction::DeleteAsFailed(pod) => self.delete(&pod, true),
                JobAction::Discard(pod) => self.delete(&pod, false),
            }
        }
        self.job.status = Some(plan.status.clone());
        self.backoff = plan.backoff;
        self.events.extend(plan.events.clone());
        for pod in &plan.untrack {
            self.untrack(pod);
        }
        plan
    }

    fn create(&mut self) {
        self.created += 1;
        let uid = format!("p{}", self.created);
        let pod = json!({
            "metadata": { "name": uid, "uid": uid, "finalizers": [FINALIZER] },
            "status": { "phase": "Running" },
        });
        self.pods.push(serde_json::from_value(pod).unwrap());
    }

    fn delete(&mut self, pod: &Pod, tracked: bool) {
        let now = self.now;
        let found = self.pods.iter_mut().find(|known| known.metadata.uid == pod.metadata.uid);
        found.unwrap().metadata.deletion_timestamp = Some(now.into());
        if !tracked {
            self.untrack(pod);
        }
    }

    fn untrack(&mut self, pod: &Pod) {
        for known in self.pods.iter_mut().filter(|known| known.metadata.uid == pod.metadata.uid) {
            known.metadata.finalizers = None;
        }
    }

    /// Finishes deleted pods and removes those without finalizers.
    fn kubelet(&mut self) {
        for pod in
            self.pods.iter_mut().filter(|pod| pod::is_terminating(pod) && !pod::is_finished(pod))
        {
            pod.status.get_or_insert_default().phase = Some("Failed".to_owned());
        }
        self.pods.retain(|pod| !pod::is_terminating(pod) || is_tracked(pod));
    }

    fn end(&mut self, index: usize, phase: &str) {
        let running = self.pods.iter_mut().filter(|pod| pod::is_active(pod));
        let pod = running.into_iter().nth(index).unwrap();
        let ended = json!({ "phase": phase, "containerStatuses": [{
            "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "terminated": { "exitCode": 0, "finishedAt": self.now.to_string() } },
        }] });
        pod.status = Some(serde_json::from_value(ended).unwrap());
    }

    fn active(&self) -> usize {
        self.pods.iter().filter(|pod| pod::is_active(pod)).count()
    }

    fn settle(&mut self) {
        for _ in 0..10 {
            if !is_finished(&self.job) {
                self.step();
            }
            self.kubelet();
        }
    }

    fn numbers(&self) -> (i32, i32, i32) {
        let status = self.job.status.as_ref().unwrap();
        let number = |number: Option<i32>| number.unwrap_or(0);
        (number(status.active), number(status.succeeded), number(status.failed))
    }

    fn conditions(&self) -> Vec<String> {
        let status = self.job.status.as_ref().unwrap();
        let record = |it: &k8s_openapi::api::batch::v1::JobCondition| {
            format!("{}={} {}", it.type_, it.status, it.reason.as_deref().unwrap())
        };
        status.conditions.iter().flatten().map(record).collect()
    }

    fn change(&mut self, spec: &Value) {
        let mut job = json!(self.job);
        json_patch::merge(&mut job["spec"], spec);
        self.job = serde_json::from_value(job).unwrap();
    }
}

#[test]
fn job_without_completions_completes_after_first_success() {
    let mut simulation = Simulation::new(job(&json!({ "parallelism": 2, "completions": "none" })));
    simulation.settle();
    simulation.end(0, "Succeeded");
    simulation.settle();
    assert!(!is_finished(&simulation.job));
    simulation.end(0, "Failed");
    simulation.settle();
    assert_eq!(simulation.numbers(), (0, 1, 1));
    assert!(is_finished(&simulation.job));
}

#[test]
fn container_restarts_count_against_backoff_limit() {
    for (limit, restarts, policy, fails) in [
        (2, 1, "OnFailure", false),
        (2, 2, "OnFailure", true),
        (0, 0, "OnFailure", false),
        (0, 1, "OnFailure", true),
        (2, 5, "Never", false),
    ] {
        let spec =
            json!({ "backoffLimit": limit, "template": { "spec": { "restartPolicy": policy } } });
        let mut simulation = Simulation::new(job(&spec));
        simulation.settle();
        let status = json!({ "phase": "Running", "containerStatuses": [{
            "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": restarts,
        }] });
        simulation.pods[0].status = serde_json::from_value(status).unwrap();
        simulation.settle();
        assert_eq!(is_finished(&simulation.job), fails, "{limit} {restarts} {policy}");
    }
}

#[test]
fn suspended_job_has_no_pods_and_no_start_time() {
    let mut simulation =
        Simulation::new(job(&json!({ "suspend": true, "activeDeadlineSeconds": 30 })));
    simulation.settle();
    assert_eq!(simulation.created, 0);
    assert_eq!(json!(simulation.job.status)["startTime"], json!(null));
    assert_eq!(simulation.conditions(), ["Suspended=True JobSuspended"]);
    simulation.now = after(100);
    simulation.change(&json!({ "suspend": false }));
    simulation.settle();
    assert_eq!(simulation.numbers(), (1, 0, 0));
    assert_eq!(json!(simulation.job.status)["startTime"], "2026-01-01T00:01:40Z");
    assert_eq!(simulation.conditions(), ["Suspended=False JobResumed"]);
    simulation.change(&json!({ "suspend": true }));
    simulation.settle();
    assert_eq!((simulation.active(), simulation.numbers()), (0, (0, 0, 0)), "no pod has failed");
    assert_eq!(simulation.events, [JobEvent::Suspended, JobEvent::Resumed, JobEvent::Suspended]);
}

#[test]
fn discarded_pods_do_not_count() {
    let mut simulation = Simulation::new(job(&json!({ "parallelism": 3, "completions": 10 })));
    simulation.settle();
    simulation.change(&json!({ "parallelism": 1 }));
    simulation.settle();
    assert_eq!((simulation.active(), simulation.numbers()), (1, (1, 0, 0)));
}

#[test]
fn deleted_pod_counts_as_failed() {
    for (policy, at_once) in [("TerminatingOrFailed", true), ("Failed", false)] {
        let mut simulation = Simulation::new(job(&json!({ "podReplacementPolicy": policy })));
        simulation.settle();
        let pod = simulation.pods[0].clone();
        simulation.delete(&pod, true);
        simulation.step();
        simulation.step();
        assert_eq!(simulation.numbers().2 == 1, at_once, "{policy}");
        simulation.kubelet();
        simulation.settle();
        assert_eq!(simulation.numbers().2, 1, "{policy}");
        simulation.now = after(10);
        simulation.settle();
        assert_eq!(simulation.created, 2, "{policy}");
    }
}

#[test]
fn deleting_job_creates_no_pods_but_counts() {
    let mut simulation = Simulation::new(job(&json!({ "completions": 2 })));
    simulation.settle();
    simulation.job.metadata.deletion_timestamp = Some(start().into());
    simulation.end(0, "Succeeded");
    simulation.settle();
    assert_eq!((simulation.created, simulation.numbers()), (1, (0, 1, 0)));
}

proptest! {
    #[test]
    fn every_pod_is_counted_once(
        parallelism in 1..5_i32,
        completions in 1..8_i32,
        ends in proptest::collection::vec((0..5_usize, prop_oneof![Just("Succeeded"), Just("Failed"), Just("deleted")], 0..3_usize), 0..30),
    ) {
        let spec = json!({ "parallelism": parallelism, "completions": completions, "backoffLimit": 100 });
        let mut simulation = Simulation::new(job(&spec));
        let (mut succeeded, mut failed) = (0, 0);
        for (index, how, steps) in ends {
            if is_finished(&simulation.job) {
                break;
            }
            simulation.now += SignedDuration::from_hours(1);
            simulation.settle();
            if index < simulation.active() {
                if how == "deleted" {
                    let pod = simulation.pods.iter().filter(|pod| pod::is_active(pod)).nth(index).unwrap().clone();
                    simulation.delete(&pod, true);
                } else {
                    simulation.end(index, how);
                }
                if how == "Succeeded" { succeeded += 1 } else { failed += 1 }
            }
            for _ in 0..steps {
                simulation.step();
                prop_assert!(simulation.active() <= usize::try_from(parallelism).unwrap());
            }
        }
        simulation.now += SignedDuration::from_hours(1);
        simulation.settle();
        prop_assert_eq!((simulation.numbers().1, simulation.numbers().2), (succeeded, failed));
        prop_assert_eq!(is_finished(&simulation.job), succeeded >= completions);
    }
}
