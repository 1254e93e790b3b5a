use anyhow::Result;
use fairway_testkit::TestCluster;
use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

use super::*;
use crate::checks::ground::{create, node};
use crate::testing::{target, told};

fn pod(namespace: &str, name: &str, app: &str, owner: Option<&str>) -> Value {
    let owners = owner.map(|kind| {
        json!([{
            "apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "1", "controller": true,
        }])
    });
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": namespace, "name": name, "labels": {"app": app}, "ownerReferences": owners,
        },
        "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i"}]},
    })
}

/// A budget with what is allowed, healthy, to stay and expected.
fn budget(namespace: &str, name: &str, selector: &Value, status: [i32; 4]) -> Value {
    let [allowed, healthy, desired, expected] = status;
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"minAvailable": desired, "selector": selector},
        "status": {
            "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired,
            "expectedPods": expected,
        },
    })
}

fn app(name: &str) -> Value {
    json!({"matchLabels": {"app": name}})
}

fn judge(budgets: &[Value], pods: &[Value]) -> Vec<Finding> {
    let read = |object: &Value| {
        Budget::read(&serde_json::from_value(object.clone()).unwrap(), "v1").unwrap()
    };
    let mut survey = Survey::new(budgets.iter().map(read).collect());
    for pod in pods {
        survey.add(&serde_json::from_value(pod.clone()).unwrap());
    }
    survey.findings()
}

#[test]
fn what_stands_against_a_drain() {
    let of_set = |app| pod("shop", app, app, Some("ReplicaSet"));
    let daemon = pod("shop", "daemon", "web", Some("DaemonSet"));
    let mut ended = pod("shop", "ended", "web", None);
    ended["status"]["phase"] = json!("Succeeded");
    let mut mirror = pod("shop", "mirror", "web", None);
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    let mut waiting = pod("shop", "waiting", "web", None);
    waiting["spec"].as_object_mut().unwrap().remove("nodeName");
    let strict = budget("shop", "web", &app("web"), [0, 1, 1, 1]);
    let used_up = budget("shop", "web", &app("web"), [0, 2, 2, 3]);
    for (budgets, pods, expected) in [
        (vec![strict.clone()], vec![of_set("web")], vec!["DisruptionBudgetsForbidDrain"]),
        (vec![used_up], vec![of_set("web")], vec!["DisruptionBudgetsDelayDrain"]),
        (vec![budget("shop", "web", &app("web"), [1, 3, 2, 3])], vec![of_set("web")], vec![]),
        (vec![budget("shop", "web", &app("web"), [0, 0, 1, 1])], vec![of_set("web")], vec![]),
        (vec![budget("shop", "web", &app("web"), [0, 0, 0, 0])], vec![of_set("web")], vec![]),
        (vec![budget("other", "web", &app("web"), [0, 1, 1, 1])], vec![of_set("web")], vec![]),
        (vec![strict.clone()], vec![of_set("db"), daemon, ended, mirror, waiting], vec![]),
        (
            vec![budget("shop", "all", &json!({}), [0, 1, 1, 1])],
            vec![of_set("web")],
            vec!["DisruptionBudgetsForbidDrain"],
        ),
        (
            vec![
                budget("shop", "web", &app("web"), [1, 3, 2, 3]),
                budget("shop", "b", &json!({}), [1, 3, 2, 3]),
            ],
            vec![of_set("web")],
            vec!["PodsWithSeveralBudgets"],
        ),
        (vec![], vec![pod("shop", "alone", "web", None)], vec!["PodsWithoutController"]),
    ] {
        let found = judge(&budgets, &pods);
        let names: Vec<&str> = found.iter().map(|finding| finding.name.as_str()).collect();
        assert_eq!(names, expected, "{budgets:?} {pods:?}");
    }
}

#[test]
fn an_empty_selector_means_none_in_the_old_version() {
    let object = budget("shop", "all", &json!({}), [0, 1, 1, 1]);
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    assert!(Budget::read(&object, "v1").is_some() && Budget::read(&object, "v1beta1").is_none());
}

#[test]
fn budgets_are_named_with_what_they_select_and_what_to_do() {
    let expression =
        json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]});
    let budgets = [
        budget("shop", "web", &app("web"), [0, 1, 1, 1]),
        budget("shop", "rest", &expression, [0, 2, 2, 3]),
        budget("zoo", "x", &json!({}), [1, 2, 1, 2]),
        budget("zoo", "y", &json!({}), [1, 2, 1, 2]),
    ];
    let pods = [
        pod("shop", "w", "web", Some("ReplicaSet")),
        pod("shop", "a", "a", Some("StatefulSet")),
        pod("zoo", "lion", "lion", None),
    ];
    insta::assert_snapshot!(told(&judge(&budgets, &pods)), @"
    DisruptionBudgetsForbidDrain (critical): 1 PodDisruptionBudget allows no evictions at all, so draining a node with one of their pods never completes: shop/web (pods app=web: requires 1 of 1 healthy).
      Run more replicas than the budget requires, or allow one disruption: `kubectl -n shop edit poddisruptionbudget web`.
    DisruptionBudgetsDelayDrain (warning): 1 PodDisruptionBudget allows no evictions now, so draining a node with one of their pods waits until more of them are healthy: shop/rest (pods app in (a,b): 2 healthy, requires 2).
      Find out why the pods are not healthy: `kubectl -n shop get pods -l 'app in (a,b)'`.
    PodsWithSeveralBudgets (critical): 1 pod is selected by more than one PodDisruptionBudget. The API server refuses to evict such pods, so draining their nodes never completes: zoo/lion (x, y).
      List the budgets with `kubectl -n zoo get poddisruptionbudgets`, then delete or edit them until each pod has only one.
    PodsWithoutController (warning): 1 pod is not managed by a controller. Draining a node stops at such a pod, or deletes it permanently: zoo/lion.
      Run the pod by a Deployment or a StatefulSet, or delete it: `kubectl -n zoo delete pod lion`.
    ");
}

#[tokio::test]
async fn the_budgets_of_a_cluster_are_looked_at() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let client = cluster.client();
    let seen = Cluster::new(client.clone());
    create(&client, &node("a", "4", "8Gi")).await?;
    create(&client, &node("b", "4", "8Gi")).await?;
    let namespace = cluster.namespace("drain").await?;
    let name = namespace.name();
    create(&client, &budget(name, "web", &app("web"), [0, 1, 1, 1])).await?;
    create(&client, &pod(name, "web", "web", None)).await?;
    let answer = Drain.run(&seen, &target("5.0.0", &TestRelease::new("5.1.0"))?).await?;
    let names: Vec<&str> = answer.findings.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["DisruptionBudgetsForbidDrain", "PodsWithoutController"]);
    Ok(())
}
