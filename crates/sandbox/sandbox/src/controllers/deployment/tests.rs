use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::plan::{DeploymentAction, DeploymentPlan, plan};
use super::replica_sets::{REVISION, available, size, sum};
use super::scale::{max_surge, max_unavailable, replicas};

const NOW: &str = "2026-01-01T00:10:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn deployment(replicas: i32, image: &str, extra: &Value) -> Deployment {
    let mut deployment = json!({
        "metadata": { "name": "web", "namespace": "n", "uid": "d", "generation": 1 },
        "spec": {
            "replicas": replicas,
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "c", "image": image }] },
            },
        },
    });
    json_patch::merge(&mut deployment, extra);
    serde_json::from_value(deployment).unwrap()
}

fn strategy(surge: &Value, unavailable: &Value) -> Value {
    let rolling = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
    json!({ "spec": { "strategy": { "type": "RollingUpdate", "rollingUpdate": rolling } } })
}

/// A Deployment and its ReplicaSets, whose plans are executed in memory.
struct Simulation {
    deployment: Deployment,
    sets: Vec<ReplicaSet>,
    made: i64,
    log: Vec<String>,
}

impl Simulation {
    fn new(deployment: Deployment) -> Self {
        Self { deployment, sets: Vec::new(), made: 0, log: Vec::new() }
    }

    /// Executes one plan.
    fn step(&mut self) -> DeploymentPlan {
        self.step_at(now(), false)
    }

    fn step_at(&mut self, now: Timestamp, old_pods_run: bool) -> DeploymentPlan {
        let plan = plan(&self.deployment, self.sets.clone(), old_pods_run, now);
        for action in plan.actions.clone() {
            self.execute(action);
        }
        self.deployment.status = Some(plan.status.clone());
        plan
    }

    fn execute(&mut self, action: DeploymentAction) {
        match action {
            DeploymentAction::Create(set) => {
                self.made += 1;
                let mut set = *set;
                self.log.push(format!("create {}", size(&set)));
                set.metadata.uid = Some(self.made.to_string());
                let created = Timestamp::from_second(self.made).unwrap();
                set.metadata.creation_timestamp = Some(created.into());
                self.sets.push(set);
            }
            DeploymentAction::Update(set, before) => {
                let uid = set.metadata.uid.clone();
                if before != size(&set) {
                    self.log.push(format!("{} {before}->{}", uid.as_deref().unwrap(), size(&set)));
                }
                let place = self.sets.iter_mut().find(|known| known.metadata.uid == uid);
                *place.unwrap() = *set;
            }
            DeploymentAction::Delete(set) => {
                self.log.push(format!("delete {}", set.metadata.uid.as_deref().unwrap()));
                self.sets.retain(|known| known.metadata.uid != set.metadata.uid);
            }
            DeploymentAction::SetRevision(revision) => {
                let annotations = self.deployment.metadata.annotations.get_or_insert_default();
                annotations.insert(REVISION.to_owned(), revision);
            }
        }
    }

    /// Sets the observed pods of a ReplicaSet to the desired ones, some of them available.
    fn observe(&mut self, index: usize, available: i32) {
        let set = &mut self.sets[index];
        let (observed, generation) = (size(set), set.metadata.generation);
        let status = set.status.get_or_insert_default();
        status.replicas = observed;
        status.ready_replicas = Some(available);
        status.available_replicas = Some(available);
        status.observed_generation = generation;
    }

    fn observe_all(&mut self) {
        for index in 0..self.sets.len() {
            self.observe(index, size(&self.sets[index]));
        }
    }

    fn settle(&mut self) {
        for _ in 0..1000 {
            self.observe_all();
            let before = (self.sets.clone(), self.deployment.clone());
            self.step();
            if before == (self.sets.clone(), self.deployment.clone()) {
                return;
            }
        }
        panic!("does not settle");
    }

    fn change(&mut self, patch: &Value) {
        let mut deployment = json!(self.deployment);
        json_patch::merge(&mut deployment, patch);
        let generation = deployment["metadata"]["generation"].as_i64().unwrap();
        deployment["metadata"]["generation"] = json!(generation + 1);
        self.deployment = serde_json::from_value(deployment).unwrap();
    }

    fn image(&mut self, image: &str) {
        let containers = json!([{ "name": "c", "image": image }]);
        self.change(&json!({ "spec": { "template": { "spec": { "containers": containers } } } }));
    }

    fn log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    fn condition(&self, type_: &str) -> String {
        let status = self.deployment.status.as_ref().unwrap();
        let found = status.conditions.iter().flatten().find(|found| found.type_ == type_);
        found.map_or_else(String::new, |found| {
            format!("{} {}", found.status, found.reason.as_deref().unwrap())
        })
    }

    fn revisions(&self) -> Vec<i64> {
        self.sets.iter().map(super::replica_sets::revision).collect()
    }
}

#[test]
fn rolling_update_replaces_pods_within_limits() {
    for (replicas, surge, unavailable, expected) in [
        (
            4,
            json!(1),
            json!(0),
            &["create 1", "1 4->3", "2 1->2", "1 3->2", "2 2->3", "1 2->1", "2 3->4", "1 1->0"][..],
        ),
        (
            4,
            json!(0),
            json!(1),
            &[
                "create 0", "1 4->3", "2 0->1", "1 3->2", "2 1->2", "1 2->1", "2 2->3", "1 1->0",
                "2 3->4",
            ],
        ),
        (4, json!("100%"), json!(0), &["create 4", "1 4->0"]),
        (
            4,
            json!("25%"),
            json!("25%"),
            &["create 1", "1 4->3", "2 1->2", "1 3->1", "2 2->4", "1 1->0"],
        ),
        (1, json!("25%"), json!("25%"), &["create 1", "1 1->0"]),
        (1, json!(0), json!(0), &["create 0", "1 1->0", "2 0->1"]),
    ] {
        let mut simulation =
            Simulation::new(deployment(replicas, "a", &strategy(&surge, &unavailable)));
        simulation.settle();
        simulation.log();
        simulation.image("b");
        simulation.settle();
        assert_eq!(simulation.log(), expected, "{replicas} {surge} {unavailable}");
        assert_eq!(simulation.condition("Progressing"), "True NewReplicaSetAvailable");
    }
}

#[test]
fn rolling_update_scales_down_unavailable_pods_first() {
    let mut simulation = Simulation::new(deployment(4, "a", &strategy(&json!(0), &json!(2))));
    simulation.settle();
    simulation.observe(0, 2);
    simulation.log();
    simulation.image("b");
    simulation.step();
    assert_eq!(simulation.log(), ["create 0", "1 4->2"]);
}

#[test]
fn rollout_without_available_pods_stops() {
    let mut simulation = Simulation::new(deployment(4, "a", &strategy(&json!(1), &json!(1))));
    simulation.settle();
    simulation.image("broken");
    simulation.log();
    for _ in 0..20 {
        simulation.step();
        simulation.observe(0, size(&simulation.sets[0]));
        simulation.observe(1, 0);
    }
    assert_eq!(simulation.log(), ["create 1", "1 4->3", "2 1->2"]);
    assert_eq!(simulation.condition("Available"), "True MinimumReplicasAvailable");
}

#[test]
fn scaling_during_rollout_is_proportional() {
    let mut simulation = Simulation::new(deployment(10, "a", &strategy(&json!(3), &json!(2))));
    simulation.settle();
    simulation.image("b");
    simulation.step();
    simulation.observe(0, 8);
    simulation.observe(1, 0);
    simulation.step();
    let sizes: Vec<_> = simulation.sets.iter().map(size).collect();
    assert_eq!(sizes, [8, 5]);
    simulation.log();
    simulation.change(&json!({ "spec": { "replicas": 15 } }));
    simulation.step();
    assert_eq!(simulation.log(), ["2 5->7", "1 8->11"]);
}

#[test]
fn paused_deployment_scales_without_rollout() {
    let mut simulation = Simulation::new(deployment(2, "a", &json!({})));
    simulation.settle();
    simulation.log();
    simulation.change(&json!({ "spec": { "paused": true } }));
    simulation.image("b");
    simulation.settle();
    assert_eq!(simulation.log(), [] as [&str; 0]);
    assert_eq!(simulation.condition("Progressing"), "Unknown DeploymentPaused");
    simulation.change(&json!({ "spec": { "replicas": 3 } }));
    simulation.settle();
    assert_eq!(simulation.log(), ["1 2->3"]);
    simulation.change(&json!({ "spec": { "paused": false } }));
    simulation.settle();
    assert_eq!(simulation.log(), ["create 1", "1 3->2", "2 1->2", "1 2->1", "2 2->3", "1 1->0"]);
    assert_eq!(simulation.condition("Progressing"), "True NewReplicaSetAvailable");
}

#[test]
fn revision_history_limit_deletes_oldest_replica_sets() {
    let mut simulation =
        Simulation::new(deployment(1, "0", &json!({ "spec": { "revisionHistoryLimit": 2 } })));
    for image in 0..6 {
        simulation.image(&image.to_string());
        simulation.settle();
    }
    assert_eq!(simulation.revisions(), [4, 5, 6]);
}

#[test]
fn rollout_without_progress_exceeds_deadline() {
    let mut simulation =
        Simulation::new(deployment(1, "a", &json!({ "spec": { "progressDeadlineSeconds": 60 } })));
    let plan = simulation.step();
    let requeue_at = plan.requeue_at.unwrap();
    assert_eq!(requeue_at.duration_since(now()).as_secs(), 61);
    simulation.observe(0, 0);
    simulation.step();
    let deadline_at = simulation.step().requeue_at.unwrap();
    simulation.step_at(deadline_at - jiff::SignedDuration::from_secs(5), false);
    assert_eq!(simulation.condition("Progressing"), "True ReplicaSetUpdated");
    let last = simulation.step_at(deadline_at, false);
    assert_eq!(simulation.condition("Progressing"), "False ProgressDeadlineExceeded");
    assert_eq!(last.requeue_at, None);
    simulation.observe(0, 1);
    simulation.step_at(deadline_at, false);
    assert_eq!(simulation.condition("Progressing"), "True NewReplicaSetAvailable");
}

#[test]
fn conditions_have_upstream_messages() {
    let mut simulation = Simulation::new(deployment(1, "a", &json!({})));
    simulation.step();
    let first = simulation.deployment.status.clone();
    simulation.settle();
    let messages = |status: Option<_>| {
        let conditions = json!(status)["conditions"].as_array().unwrap().clone();
        conditions
            .iter()
            .map(|it| it["message"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!(messages(first), @r#"
    Deployment does not have minimum availability.
    Created new replica set "web-58d6b74dbb"
    "#);
    insta::assert_snapshot!(messages(simulation.deployment.status), @r#"
    Deployment has minimum availability.
    ReplicaSet "web-58d6b74dbb" has successfully progressed.
    "#);
}

proptest! {
    #[test]
    fn rollout_stays_within_limits_and_completes(
        replicas_wanted in 0..12_i32,
        surge in prop_oneof![(0..5_i32).prop_map(|n| json!(n)), (0..=100_i32).prop_map(|n| json!(format!("{n}%")))],
        unavailable in prop_oneof![(0..5_i32).prop_map(|n| json!(n)), (0..=100_i32).prop_map(|n| json!(format!("{n}%")))],
        late in proptest::collection::vec(0..4_i32, 0..30),
    ) {
        let mut simulation = Simulation::new(deployment(replicas_wanted, "a", &strategy(&surge, &unavailable)));
        simulation.settle();
        simulation.image("b");
        let most = replicas(&simulation.deployment) + max_surge(&simulation.deployment);
        let minimum = replicas(&simulation.deployment) - max_unavailable(&simulation.deployment);
        for missing in late {
            simulation.step();
            prop_assert!(sum(&simulation.sets, size) <= most);
            let promised: i32 = simulation.sets.iter().map(|set| available(set).min(size(set))).sum();
            prop_assert!(promised >= minimum, "{promised} < {minimum}");
            let newest = simulation.sets.len() - 1;
            simulation.observe(0, size(&simulation.sets[0]));
            let before = available(&simulation.sets[newest]);
            simulation.observe(newest, (size(&simulation.sets[newest]) - missing).max(before));
        }
        simulation.settle();
        prop_assert_eq!(simulation.sets.iter().map(size).collect::<Vec<_>>(), vec![0, replicas_wanted]);
    }
}
