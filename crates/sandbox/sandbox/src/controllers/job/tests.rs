use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::plan::{Action, Backoff, Plan, after_finish, plan};
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

    fn step(&mut self) -> Plan {
        let plan = plan(&self.job, &self.pods, self.backoff, self.now);
        for action in plan.actions.clone() {
            match action {
                Action::Create => self.create(),
                Action::DeleteAsFailed(pod) => self.delete(&pod, true),
                Action::Discard(pod) => self.delete(&pod, false),
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
fn job_with_succeeded_pod_completes() {
    let mut world = Simulation::new(job(&json!({})));
    world.settle();
    assert_eq!(world.numbers(), (1, 0, 0));
    assert_eq!(world.conditions(), [] as [&str; 0]);
    assert_eq!(json!(world.job.status)["startTime"], START);
    world.now = after(5);
    world.end(0, "Succeeded");
    world.step();
    assert_eq!(world.numbers(), (0, 0, 0), "it is noted, and not counted yet");
    assert_eq!(json!(world.job.status)["uncountedTerminatedPods"], json!({ "succeeded": ["p1"] }));
    assert_eq!(world.conditions(), ["SuccessCriteriaMet=True CompletionsReached"]);
    world.step();
    assert_eq!(world.numbers(), (0, 1, 0));
    assert_eq!(
        world.conditions(),
        ["SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"]
    );
    assert_eq!(json!(world.job.status)["completionTime"], "2026-01-01T00:00:05Z");
    assert_eq!(world.events, [JobEvent::Completed]);
}

#[test]
fn parallelism_limits_active_pods() {
    let cases: &[(Value, &[&str], usize, usize)] = &[
        (json!({ "parallelism": 3, "completions": 5 }), &[], 3, 3),
        (json!({ "parallelism": 3, "completions": 2 }), &[], 2, 2),
        (json!({ "parallelism": 0, "completions": 2 }), &[], 0, 0),
        (json!({ "parallelism": 3, "completions": 5 }), &["Succeeded"], 3, 4),
        (json!({ "parallelism": 3, "completions": 3 }), &["Succeeded"], 2, 3),
        (json!({ "parallelism": 2, "completions": 0 }), &[], 0, 0),
        (json!({ "parallelism": 2, "completions": "none" }), &[], 2, 2),
        (json!({ "parallelism": 2, "completions": "none" }), &["Succeeded"], 1, 2),
        (json!({ "parallelism": 2, "completions": "none" }), &["Succeeded", "Failed"], 0, 2),
    ];
    for (spec, ends, active, created) in cases {
        let mut world = Simulation::new(job(spec));
        world.settle();
        for phase in *ends {
            world.end(0, phase);
            world.settle();
        }
        assert_eq!((world.active(), world.created), (*active, *created), "{spec} {ends:?}");
    }
}

#[test]
fn job_without_completions_completes_after_first_success() {
    let mut world = Simulation::new(job(&json!({ "parallelism": 2, "completions": "none" })));
    world.settle();
    world.end(0, "Succeeded");
    world.settle();
    assert!(!is_finished(&world.job));
    world.end(0, "Failed");
    world.settle();
    assert_eq!(world.numbers(), (0, 1, 1));
    assert!(is_finished(&world.job));
}

#[test]
fn failures_back_off_until_limit() {
    let mut world = Simulation::new(job(&json!({ "backoffLimit": 2 })));
    world.settle();
    world.end(0, "Failed");
    world.settle();
    assert_eq!((world.created, world.numbers()), (1, (0, 0, 1)));
    assert_eq!(world.step().requeue_at, Some(after(10)));
    world.now = after(10);
    world.settle();
    assert_eq!(world.created, 2);
    world.end(0, "Failed");
    world.settle();
    assert_eq!(world.step().requeue_at, Some(after(30)));
    world.now = after(30);
    world.settle();
    world.end(0, "Failed");
    world.settle();
    assert_eq!((world.created, world.numbers()), (3, (0, 0, 3)));
    assert_eq!(
        world.conditions(),
        ["FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded"]
    );
    let message = "Job has reached the specified backoff limit";
    assert_eq!(world.events, [JobEvent::Failed("BackoffLimitExceeded".into(), message.into())]);
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
        let mut world = Simulation::new(job(&spec));
        world.settle();
        let status = json!({ "phase": "Running", "containerStatuses": [{
            "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": restarts,
        }] });
        world.pods[0].status = serde_json::from_value(status).unwrap();
        world.settle();
        assert_eq!(is_finished(&world.job), fails, "{limit} {restarts} {policy}");
    }
}

#[test]
fn active_deadline_fails_job_and_deletes_pods() {
    let mut world = Simulation::new(job(
        &json!({ "parallelism": 2, "completions": 2, "activeDeadlineSeconds": 30 }),
    ));
    assert_eq!(world.step().requeue_at, Some(after(30)));
    world.now = after(29);
    world.settle();
    assert_eq!(world.numbers(), (2, 0, 0));
    world.now = after(30);
    world.step();
    assert_eq!(world.conditions(), ["FailureTarget=True DeadlineExceeded"]);
    assert_eq!(json!(world.job.status)["terminating"], 2);
    world.settle();
    assert_eq!(world.numbers(), (0, 0, 2));
    assert_eq!(
        world.conditions(),
        ["FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"]
    );
}

#[test]
fn suspended_job_has_no_pods_and_no_start_time() {
    let mut world = Simulation::new(job(&json!({ "suspend": true, "activeDeadlineSeconds": 30 })));
    world.settle();
    assert_eq!(world.created, 0);
    assert_eq!(json!(world.job.status)["startTime"], json!(null));
    assert_eq!(world.conditions(), ["Suspended=True JobSuspended"]);
    world.now = after(100);
    world.change(&json!({ "suspend": false }));
    world.settle();
    assert_eq!(world.numbers(), (1, 0, 0));
    assert_eq!(json!(world.job.status)["startTime"], "2026-01-01T00:01:40Z");
    assert_eq!(world.conditions(), ["Suspended=False JobResumed"]);
    world.change(&json!({ "suspend": true }));
    world.settle();
    assert_eq!((world.active(), world.numbers()), (0, (0, 0, 0)), "no pod has failed");
    assert_eq!(world.events, [JobEvent::Suspended, JobEvent::Resumed, JobEvent::Suspended]);
}

#[test]
fn discarded_pods_do_not_count() {
    let mut world = Simulation::new(job(&json!({ "parallelism": 3, "completions": 10 })));
    world.settle();
    world.change(&json!({ "parallelism": 1 }));
    world.settle();
    assert_eq!((world.active(), world.numbers()), (1, (1, 0, 0)));
}

#[test]
fn deleted_pod_counts_as_failed() {
    for (policy, at_once) in [("TerminatingOrFailed", true), ("Failed", false)] {
        let mut world = Simulation::new(job(&json!({ "podReplacementPolicy": policy })));
        world.settle();
        let pod = world.pods[0].clone();
        world.delete(&pod, true);
        world.step();
        world.step();
        assert_eq!(world.numbers().2 == 1, at_once, "{policy}");
        world.kubelet();
        world.settle();
        assert_eq!(world.numbers().2, 1, "{policy}");
        world.now = after(10);
        world.settle();
        assert_eq!(world.created, 2, "{policy}");
    }
}

#[test]
fn deleting_job_creates_no_pods_but_counts() {
    let mut world = Simulation::new(job(&json!({ "completions": 2 })));
    world.settle();
    world.job.metadata.deletion_timestamp = Some(start().into());
    world.end(0, "Succeeded");
    world.settle();
    assert_eq!((world.created, world.numbers()), (1, (0, 1, 0)));
}

#[test]
fn finished_job_expires_after_ttl() {
    for (ttl, expected) in
        [(json!(null), None), (json!(0), Some(after(7))), (json!(60), Some(after(67)))]
    {
        let mut world = Simulation::new(job(&json!({ "ttlSecondsAfterFinished": ttl })));
        world.settle();
        world.now = after(7);
        world.end(0, "Succeeded");
        world.settle();
        let (marked, expires) = after_finish(&world.job, &world.pods);
        assert_eq!((marked.len(), expires), (0, expected), "{ttl}");
    }
}

proptest! {
    #[test]
    fn every_pod_is_counted_once(
        parallelism in 1..5_i32,
        completions in 1..8_i32,
        ends in proptest::collection::vec((0..5_usize, prop_oneof![Just("Succeeded"), Just("Failed"), Just("deleted")], 0..3_usize), 0..30),
    ) {
        let spec = json!({ "parallelism": parallelism, "completions": completions, "backoffLimit": 100 });
        let mut world = Simulation::new(job(&spec));
        let (mut succeeded, mut failed) = (0, 0);
        for (index, how, steps) in ends {
            if is_finished(&world.job) {
                break;
            }
            world.now += SignedDuration::from_hours(1);
            world.settle();
            if index < world.active() {
                if how == "deleted" {
                    let pod = world.pods.iter().filter(|pod| pod::is_active(pod)).nth(index).unwrap().clone();
                    world.delete(&pod, true);
                } else {
                    world.end(index, how);
                }
                if how == "Succeeded" { succeeded += 1 } else { failed += 1 }
            }
            for _ in 0..steps {
                world.step();
                prop_assert!(world.active() <= usize::try_from(parallelism).unwrap());
            }
        }
        world.now += SignedDuration::from_hours(1);
        world.settle();
        prop_assert_eq!((world.numbers().1, world.numbers().2), (succeeded, failed));
        prop_assert_eq!(is_finished(&world.job), succeeded >= completions);
    }
}
