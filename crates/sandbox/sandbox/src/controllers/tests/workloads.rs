use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::cluster::Cluster;
use crate::api::Propagation;

fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "c", "image": image }] },
    })
}

fn deployment(replicas: usize, image: &str) -> Value {
    json!({ "metadata": { "name": "web" }, "spec": {
        "replicas": replicas,
        "selector": { "matchLabels": { "app": "web" } },
        "template": template(image),
    } })
}

fn job(image: &str, spec: &Value) -> Value {
    let mut template = template(image);
    template["spec"]["restartPolicy"] = json!("Never");
    let mut job = json!({ "metadata": { "name": "work" }, "spec": { "template": template } });
    json_patch::merge(&mut job["spec"], spec);
    job
}

fn condition(object: &Value, type_: &str) -> String {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == type_);
    found.map_or_else(String::new, |found| {
        format!("{} {}", found["status"].as_str().unwrap(), found["reason"].as_str().unwrap())
    })
}

fn is_rolled_out(cluster: &Cluster) -> bool {
    let web = cluster.get("Deployment", "web");
    condition(&web, "Progressing") == "True NewReplicaSetAvailable"
        && web["status"]["observedGeneration"] == web["metadata"]["generation"]
        && web["status"]["availableReplicas"] == web["spec"]["replicas"]
        && web["status"]["updatedReplicas"] == web["status"]["replicas"]
}

fn images(pods: &[Arc<Value>]) -> BTreeSet<String> {
    let image =
        |pod: &Arc<Value>| pod["spec"]["containers"][0]["image"].as_str().unwrap().to_owned();
    pods.iter().map(image).collect()
}

#[tokio::test(start_paused = true)]
async fn daemon_set_runs_on_each_node() {
    let cluster = Cluster::new(&["a", "b"]).await;
    let set = json!({ "metadata": { "name": "agent" }, "spec": {
        "selector": { "matchLabels": { "app": "web" } }, "template": template("runs"),
    } });
    cluster.create("apps/v1", "DaemonSet", &set);
    let ready =
        |it: &Cluster, count: i64| it.get("DaemonSet", "agent")["status"]["numberReady"] == count;
    cluster.wait_until("two pods", |it| ready(it, 2)).await;
    cluster.create("v1", "Node", &json!({ "metadata": { "name": "c" } }));
    cluster.wait_until("a third", |it| ready(it, 3)).await;
    let image = json!([{ "name": "c", "image": "also-runs" }]);
    cluster.patch(
        "DaemonSet",
        "agent",
        json!({ "spec": { "template": { "spec": { "containers": image } } } }),
    );
    cluster
        .wait_until("the update", |it| {
            let set = it.get("DaemonSet", "agent");
            let status = &set["status"];
            status["observedGeneration"] == set["metadata"]["generation"]
                && status["updatedNumberScheduled"] == 3
                && status["numberAvailable"] == 3
        })
        .await;
    assert_eq!(images(&cluster.list("Pod")), BTreeSet::from(["also-runs".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn unschedulable_pod_waits_for_suitable_node() {
    let cluster = Cluster::new(&["a"]).await;
    let mut pod = json!({ "metadata": { "name": "choosy" }, "spec": template("runs")["spec"] });
    pod["spec"]["nodeSelector"] = json!({ "disk": "ssd" });
    cluster.create("v1", "Pod", &pod);
    cluster
        .wait_until("the reason", |it| {
            condition(&it.get("Pod", "choosy"), "PodScheduled") == "False Unschedulable"
        })
        .await;
    cluster.pass(60).await;
    assert_eq!(cluster.events("choosy"), ["FailedScheduling x1"]);
    cluster.patch("Node", "a", json!({ "metadata": { "labels": { "disk": "ssd" } } }));
    cluster.wait_until("the node", |it| it.get("Pod", "choosy")["spec"]["nodeName"] == "a").await;
    assert_eq!(cluster.events("choosy"), ["FailedScheduling x1", "Scheduled x1"]);
}

#[tokio::test(start_paused = true)]
async fn controllers_in_steady_state_write_nothing() {
    let cluster = Cluster::new(&["a", "b"]).await;
    cluster.create("apps/v1", "Deployment", &deployment(3, "runs"));
    cluster.create("batch/v1", "Job", &job("succeeds", &json!({})));
    let broken = json!({ "metadata": { "name": "broken" }, "spec": {
        "replicas": 2, "selector": { "matchLabels": { "app": "broken" } },
        "template": { "metadata": { "labels": { "app": "broken" } }, "spec": {
            "serviceAccountName": "missing", "containers": [{ "name": "c", "image": "runs" }],
        } },
    } });
    cluster.create("apps/v1", "ReplicaSet", &broken);
    cluster.wait_until("the rollout", is_rolled_out).await;
    cluster.patch("Deployment", "web", json!({ "spec": { "paused": true } }));
    cluster.pass(60).await;
    let failure = condition(&cluster.get("ReplicaSet", "broken"), "ReplicaFailure");
    assert_eq!(failure, "True FailedCreate");
    cluster.delete("ReplicaSet", "broken", Propagation::Background);
    cluster.pass(60).await;
    let revision = cluster.api.store().revision();
    assert!(revision < 300, "{revision} writes for so little");
    cluster.pass(3600).await;
    assert_eq!(cluster.api.store().revision(), revision);
}

#[tokio::test(start_paused = true)]
async fn anti_affinity_pods_wait_for_a_free_node() {
    let cluster = Cluster::new(&["a", "b"]).await;
    let mut hermits = deployment(3, "runs");
    hermits["spec"]["strategy"] =
        json!({ "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 } });
    hermits["spec"]["template"]["spec"]["affinity"] = json!({ "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            { "labelSelector": { "matchLabels": { "app": "web" } }, "topologyKey": "name" },
        ],
    } });
    cluster.create("apps/v1", "Deployment", &hermits);
    let ready =
        |it: &Cluster, count: i64| it.get("Deployment", "web")["status"]["readyReplicas"] == count;
    cluster.wait_until("two pods", |it| ready(it, 2)).await;
    cluster.pass(60).await;
    assert!(ready(&cluster, 2));
    let on_a = |it: &Cluster| {
        let pods = it.list("Pod");
        let found = pods.iter().find(|pod| pod["spec"]["nodeName"] == "a");
        found.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned())
    };
    let placed = on_a(&cluster).unwrap();
    cluster.delete("Pod", &placed, Propagation::Background);
    cluster.wait_until("another", |it| on_a(it).is_some_and(|name| name != placed)).await;
}
