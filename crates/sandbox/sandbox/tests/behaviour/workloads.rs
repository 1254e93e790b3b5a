//! Deployments, ReplicaSets and DaemonSets.

use anyhow::{Context, Result, ensure};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, PatchType, Transcript, once, pod};

/// A workload spec with this number of pods that run until terminated.
fn spec(image: &str, replicas: u32) -> Value {
    let mut pod = once(image, "trap 'exit 0' TERM; while true; do sleep 0.1; done");
    pod["restartPolicy"] = json!("Always");
    json!({
        "replicas": replicas,
        "selector": { "matchLabels": { "app": "d" } },
        "template": { "metadata": { "labels": { "app": "d" } }, "spec": pod },
    })
}

async fn create(case: &Case, resource: &str, spec: &Value) -> Result<Value> {
    case.until("serviceaccounts/default", "to be there", |_| true).await?;
    case.create(resource, &json!({ "metadata": { "name": "d" }, "spec": spec })).await?.object()
}

/// A Deployment with all pods available.
async fn deployed(case: &Case, replicas: u32) -> Result<Value> {
    create(case, "deployments", &spec(&case.shell().await?, replicas)).await?;
    case.until("deployments/d", "to be complete", is_complete).await
}

/// Whether all pods have the newest template and are available, and no others exist.
fn is_complete(deployment: &Value) -> bool {
    let (spec, status) = (&deployment["spec"], &deployment["status"]);
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let wanted = number(&spec["replicas"]);
    number(&status["observedGeneration"]) >= number(&deployment["metadata"]["generation"])
        && ["replicas", "updatedReplicas", "availableReplicas", "readyReplicas"]
            .iter()
            .all(|field| number(&status[*field]) == wanted)
}

async fn items(case: &Case, path: &str) -> Result<Vec<Value>> {
    Ok(case.get(path).await?.object()?["items"].as_array().cloned().unwrap_or_default())
}

const PODS: &str = "pods?labelSelector=app%3Dd";
const SETS: &str = "replicasets?labelSelector=app%3Dd";

/// Waits until the workload has this number of pods.
async fn until_pods(case: &Case, count: usize) -> Result<Value> {
    case.until(PODS, &format!("{count} pods"), |list| {
        list["items"].as_array().is_some_and(|items| items.len() == count)
    })
    .await
}

fn environment(value: &str) -> Value {
    json!([{ "op": "add", "path": "/spec/template/spec/containers/0/env", "value": [{ "name": "V", "value": value }] }])
}

#[tokio::test]
async fn deployment_owns_replica_set_and_pods() -> Result<()> {
    let case = Case::begin("workloads").await?;
    let deployment = deployed(&case, 2).await?;
    let (sets, pods) = (items(&case, SETS).await?, items(&case, PODS).await?);
    assert_eq!((sets.len(), pods.len()), (1, 2));
    assert_eq!(sets[0]["metadata"]["ownerReferences"][0]["uid"], deployment["metadata"]["uid"]);
    assert_eq!(sets[0]["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    assert_eq!(deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let hash = sets[0]["metadata"]["labels"]["pod-template-hash"].as_str().context("no hash")?;
    assert_eq!(sets[0]["metadata"]["name"], format!("d-{hash}"));
    for pod in &pods {
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], sets[0]["metadata"]["uid"]);
        assert_eq!(pod["metadata"]["labels"]["pod-template-hash"], hash);
    }
    let mut transcript = Transcript::default();
    let conditions = deployment["status"]["conditions"].as_array().into_iter().flatten();
    for condition in conditions {
        transcript.line(&condition["type"], json!([condition["status"], condition["reason"]]));
    }
    assert_snapshot!(transcript, @r#"
    "Available": ["True","MinimumReplicasAvailable"]
    "Progressing": ["True","NewReplicaSetAvailable"]
    "#);
    Ok(())
}

#[tokio::test]
async fn deployment_is_scaled_through_subresource() -> Result<()> {
    let case = Case::begin("workloads").await?;
    deployed(&case, 1).await?;
    let scale = case.get("deployments/d/scale").await?.object()?;
    assert_snapshot!(json!([scale["kind"], scale["apiVersion"], scale["spec"], scale["status"]]), @r#"["Scale","autoscaling/v1",{"replicas":1},{"replicas":1,"selector":"app=d"}]"#);
    case.merge("deployments/d/scale", &json!({ "spec": { "replicas": 3 } })).await?.object()?;
    case.until("deployments/d", "to be scaled up", |it| {
        it["spec"]["replicas"] == 3 && is_complete(it)
    })
    .await?;
    case.merge("deployments/d/scale", &json!({ "spec": { "replicas": 0 } })).await?.object()?;
    until_pods(&case, 0).await?;
    Ok(())
}

#[tokio::test]
async fn rolling_update_keeps_minimum_availability() -> Result<()> {
    let case = Case::begin("workloads").await?;
    deployed(&case, 2).await?;
    let version = case.get("deployments/d").await?.object()?["metadata"]["resourceVersion"].clone();
    let version = version.as_str().unwrap_or_default();
    let path = format!("deployments?fieldSelector=metadata.name%3Dd&resourceVersion={version}");
    let mut events = case.watch(&path).await?;
    case.patch(PatchType::Json, "deployments/d", &environment("2")).await?.object()?;
    loop {
        let deployment = events.event().await?["object"].clone();
        let status = &deployment["status"];
        let number = |field: &str| status[field].as_u64().unwrap_or_default();
        // maxUnavailable and maxSurge are 25 % of two: 0 and 1.
        ensure!(number("availableReplicas") >= 2, "too few: {status}");
        ensure!(number("replicas") <= 3, "too many: {status}");
        if is_complete(&deployment) {
            break;
        }
    }
    let sets = items(&case, SETS).await?;
    let mut replicas: Vec<u64> =
        sets.iter().filter_map(|set| set["spec"]["replicas"].as_u64()).collect();
    replicas.sort_unstable();
    assert_eq!(replicas, [0, 2]);
    Ok(())
}

#[tokio::test]
async fn rollback_reuses_replica_set() -> Result<()> {
    let case = Case::begin("workloads").await?;
    deployed(&case, 1).await?;
    let first = items(&case, SETS).await?;
    case.patch(PatchType::Json, "deployments/d", &environment("2")).await?.object()?;
    let revision = |object: &Value| {
        object["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone()
    };
    case.until("deployments/d", "the second revision", |it| revision(it) == "2" && is_complete(it))
        .await?;
    let back = json!([{ "op": "remove", "path": "/spec/template/spec/containers/0/env" }]);
    case.patch(PatchType::Json, "deployments/d", &back).await?.object()?;
    case.until("deployments/d", "the third revision", |it| revision(it) == "3" && is_complete(it))
        .await?;
    let sets = items(&case, SETS).await?;
    assert_eq!(sets.len(), 2);
    let again = sets
        .iter()
        .find(|set| set["metadata"]["uid"] == first[0]["metadata"]["uid"])
        .context("the first set is gone")?;
    assert_eq!((&again["spec"]["replicas"], revision(again)), (&json!(1), json!("3")));
    Ok(())
}

#[tokio::test]
async fn recreate_never_runs_two_templates() -> Result<()> {
    let case = Case::begin("workloads").await?;
    let mut wanted = spec(&case.shell().await?, 1);
    wanted["strategy"] = json!({ "type": "Recreate" });
    create(&case, "deployments", &wanted).await?;
    case.until("deployments/d", "to be complete", is_complete).await?;
    let list = case.get(PODS).await?.object()?;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let mut events = case.watch(&format!("{PODS}&resourceVersion={version}")).await?;
    case.patch(PatchType::Json, "deployments/d", &environment("2")).await?.object()?;
    let mut order = Vec::new();
    while order.last() != Some(&"ADDED") {
        match events.event().await?["type"].as_str() {
            Some("ADDED") => order.push("ADDED"),
            Some("DELETED") => order.push("DELETED"),
            _ => {}
        }
    }
    assert_eq!(order, ["DELETED", "ADDED"]);
    Ok(())
}

#[tokio::test]
async fn paused_deployment_does_not_roll_out() -> Result<()> {
    let case = Case::begin("workloads").await?;
    deployed(&case, 1).await?;
    case.merge("deployments/d", &json!({ "spec": { "paused": true } })).await?.object()?;
    let patched =
        case.patch(PatchType::Json, "deployments/d", &environment("2")).await?.object()?;
    let seen = |it: &Value| it["status"]["observedGeneration"] == patched["metadata"]["generation"];
    let paused = case.until("deployments/d", "to be seen", seen).await?;
    assert_eq!(paused["status"]["updatedReplicas"], Value::Null);
    assert_eq!(items(&case, SETS).await?.len(), 1);
    case.merge("deployments/d", &json!({ "spec": { "paused": null } })).await?.object()?;
    case.until("deployments/d", "to be complete", is_complete).await?;
    assert_eq!(items(&case, SETS).await?.len(), 2);
    Ok(())
}

#[tokio::test]
async fn deployment_deletion_deletes_pods() -> Result<()> {
    let case = Case::begin("workloads").await?;
    deployed(&case, 1).await?;
    case.delete_with("deployments/d", &json!({ "propagationPolicy": "Background" }))
        .await?
        .object()?;
    until_pods(&case, 0).await?;
    assert_eq!(items(&case, SETS).await?, Vec::<Value>::new());
    Ok(())
}

#[tokio::test]
async fn deployment_defaults_are_applied() -> Result<()> {
    let case = Case::begin("workloads").await?;
    let mut wanted = spec("image", 1);
    wanted.as_object_mut().map(|spec| spec.remove("replicas"));
    wanted["template"]["spec"] = json!({ "containers": [{ "name": "main", "image": "image" }] });
    let object = json!({ "metadata": { "name": "d" }, "spec": wanted });
    let spec = case.create("deployments?dryRun=All", &object).await?.object()?["spec"].clone();
    assert_snapshot!(serde_json::to_string_pretty(&spec)?, @r#"
    {
      "progressDeadlineSeconds": 600,
      "replicas": 1,
      "revisionHistoryLimit": 10,
      "selector": {
        "matchLabels": {
          "app": "d"
        }
      },
      "strategy": {
        "rollingUpdate": {
          "maxSurge": "25%",
          "maxUnavailable": "25%"
        },
        "type": "RollingUpdate"
      },
      "template": {
        "metadata": {
          "creationTimestamp": null,
          "labels": {
            "app": "d"
          }
        },
        "spec": {
          "containers": [
            {
              "image": "image",
              "imagePullPolicy": "Always",
              "name": "main",
              "resources": {},
              "terminationMessagePath": "/dev/termination-log",
              "terminationMessagePolicy": "File"
            }
          ],
          "dnsPolicy": "ClusterFirst",
          "restartPolicy": "Always",
          "schedulerName": "default-scheduler",
          "securityContext": {},
          "terminationGracePeriodSeconds": 30
        }
      }
    }
    "#);
    Ok(())
}

#[tokio::test]
async fn invalid_deployments_are_refused() -> Result<()> {
    let case = Case::begin("workloads").await?;
    let mut transcript = Transcript::default();
    for (pointer, value) in [
        ("/spec/selector", json!({})),
        ("/spec/template/metadata/labels", json!({ "app": "other" })),
        ("/spec/template/spec/restartPolicy", json!("Never")),
        ("/spec/template/spec/containers", json!([])),
        ("/spec/template/spec/containers/0/name", json!("A b")),
        ("/spec/template/spec/containers/0/image", json!("")),
        ("/spec", json!({})),
    ] {
        let mut wanted = json!({ "metadata": { "name": "d" }, "spec": spec("image", 1) });
        if let Some(place) = wanted.pointer_mut(pointer) {
            *place = value;
        }
        transcript.line(pointer, case.create("deployments", &wanted).await?.fields());
    }
    assert_snapshot!(transcript, @"
    /spec/selector: 422 Invalid
      FieldValueInvalid spec.selector
    /spec/template/metadata/labels: 422 Invalid
      FieldValueInvalid spec.template.metadata.labels
    /spec/template/spec/restartPolicy: 422 Invalid
      FieldValueNotSupported spec.template.spec.restartPolicy
    /spec/template/spec/containers: 422 Invalid
      FieldValueRequired spec.template.spec.containers
    /spec/template/spec/containers/0/name: 422 Invalid
      FieldValueInvalid spec.template.spec.containers[0].name
    /spec/template/spec/containers/0/image: 422 Invalid
      FieldValueRequired spec.template.spec.containers[0].image
    /spec: 422 Invalid
      FieldValueInvalid spec.template.metadata.labels
      FieldValueRequired spec.selector
      FieldValueRequired spec.template.spec.containers
    ");
    Ok(())
}

#[tokio::test]
async fn replica_set_replaces_deleted_pods() -> Result<()> {
    let case = Case::begin("workloads").await?;
    create(&case, "replicasets", &spec(&case.shell().await?, 1)).await?;
    let pods = until_pods(&case, 1).await?;
    let name = pods["items"][0]["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    case.delete(&format!("pods/{name}?gracePeriodSeconds=0")).await?.object()?;
    case.until(PODS, "another pod", |list| {
        let items = list["items"].as_array().map_or(&[][..], Vec::as_slice);
        items.iter().any(|pod| pod["metadata"]["name"] != name)
    })
    .await?;
    Ok(())
}

/// A pod with the labels of the workload and without an owner.
async fn stray(case: &Case, image: &str) -> Result<Value> {
    let mut pod = pod("stray", &spec(image, 0)["template"]["spec"]);
    pod["metadata"]["labels"] = json!({ "app": "d" });
    case.create("pods", &pod).await?.object()
}

#[tokio::test]
async fn replica_set_adopts_orphaned_pods() -> Result<()> {
    let case = Case::begin("workloads").await?;
    let image = case.shell().await?;
    case.start("first", &once(&image, "exit 0")).await?;
    stray(&case, &image).await?;
    let set = create(&case, "replicasets", &spec(&image, 1)).await?;
    let adopted = case
        .until("pods/stray", "to be adopted", |pod| pod["metadata"]["ownerReferences"].is_array())
        .await?;
    assert_eq!(adopted["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
    // The controller may see the ReplicaSet before the pod. It then creates another one, and deletes one.
    case.until(PODS, "one pod", |list| {
        list["items"].as_array().is_some_and(|pods| pods.len() == 1)
    })
    .await?;
    Ok(())
}

#[tokio::test]
async fn replica_set_releases_unmatched_pods() -> Result<()> {
    let case = Case::begin("workloads").await?;
    create(&case, "replicasets", &spec(&case.shell().await?, 1)).await?;
    let pods = until_pods(&case, 1).await?;
    let path =
        format!("pods/{}", pods["items"][0]["metadata"]["name"].as_str().unwrap_or_default());
    case.merge(&path, &json!({ "metadata": { "labels": { "app": "other" } } })).await?.object()?;
    case.until(&path, "to be released", |pod| pod["metadata"]["ownerReferences"].is_null()).await?;
    until_pods(&case, 1).await?;
    Ok(())
}

#[tokio::test]
async fn orphaning_deletion_keeps_pods_of_replica_set() -> Result<()> {
    let case = Case::begin("workloads").await?;
    create(&case, "replicasets", &spec(&case.shell().await?, 1)).await?;
    until_pods(&case, 1).await?;
    case.delete_with("replicasets/d", &json!({ "propagationPolicy": "Orphan" })).await?.object()?;
    case.until_gone("replicasets/d").await?;
    let left = items(&case, PODS).await?;
    assert_eq!((left.len(), &left[0]["metadata"]["ownerReferences"]), (1, &Value::Null));
    Ok(())
}

#[tokio::test]
async fn daemon_set_runs_on_every_node() -> Result<()> {
    let case = Case::begin("workloads").await?;
    let mut wanted = spec(&case.shell().await?, 0);
    wanted.as_object_mut().map(|spec| spec.remove("replicas"));
    create(&case, "daemonsets", &wanted).await?;
    let nodes = items(&case, "/api/v1/nodes").await?.len();
    let ready = |daemon: &Value| daemon["status"]["numberReady"] == nodes;
    let daemon = case.until("daemonsets/d", "to be ready", ready).await?;
    assert_eq!(daemon["status"]["desiredNumberScheduled"], nodes);
    let mut places: Vec<Value> =
        items(&case, PODS).await?.iter().map(|pod| pod["spec"]["nodeName"].clone()).collect();
    places.dedup();
    assert_eq!(places.len(), nodes);
    Ok(())
}
