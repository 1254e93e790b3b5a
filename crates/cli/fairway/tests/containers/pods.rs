//! Pods from their creation to their end.

use std::os::unix::fs::PermissionsExt;

use fairway_fixtures::skip;
use fairway_sandbox::api::Propagation;
use fairway_sandbox::init::Confinement;
use fairway_sandbox::node::logs::LogOptions;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use serde_json::json;

use crate::cluster::Cluster;
use crate::machine::moment;

#[tokio::test]
async fn a_pod_runs_to_its_end() {
    let cluster = Cluster::new().await;
    let script = "echo hello; echo bye > /dev/termination-log; exit 3";
    cluster.pod("a", script, json!({ "restartPolicy": "Never" }));
    let pod = cluster.until("a", "/status/phase", json!("Failed")).await;
    let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(3), &json!("Error")));
    if cluster.nodes.mode().confinement != Confinement::Plain {
        assert_eq!(ended["message"], json!("bye\n"));
    }
    assert_eq!(cluster.log("a", &LogOptions::default()).await, "hello\n");
    insta::assert_snapshot!(cluster.events("a"), @r#"
    Normal Pulled Container image "shell" already present on machine
    Normal Created Created container: main
    Normal Started Started container main
    "#);
}

#[tokio::test]
async fn init_containers_come_first_and_share_volumes() {
    let cluster = Cluster::new().await;
    let volume = json!([{ "name": "v", "mountPath": "/v" }]);
    cluster.pod(
        "a",
        "cat /v/x",
        json!({
            "restartPolicy": "Never",
            "initContainers": [{ "name": "init", "command": ["/bin/sh", "-c", "echo made > /v/x"],
                "volumeMounts": volume }],
            "containers": [{ "volumeMounts": volume }],
            "volumes": [{ "name": "v", "emptyDir": {} }],
        }),
    );
    cluster.until("a", "/status/phase", json!("Succeeded")).await;
    let options = LogOptions { container: Some("main".to_owned()), ..LogOptions::default() };
    assert_eq!(cluster.log("a", &options).await, "made\n");
}

#[tokio::test]
async fn volumes_and_variables_come_from_objects() {
    let cluster = Cluster::new().await;
    let metadata = |name: &str| json!({ "name": name, "namespace": "default" });
    cluster.create::<ConfigMap>(json!({ "metadata": metadata("map"), "data": { "color": "red" } }));
    cluster.create::<Secret>(json!({ "metadata": metadata("word"), "data": { "w": "c2VzYW1l" } }));
    let script = "cat /map/color /word/w /sa/namespace /sa/ca.crt; ls /sa; echo $COLOR $NODE
        echo $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT; echo there > /host/file";
    let spec = json!({
        "restartPolicy": "Never",
        "containers": [{
            "env": [
                { "name": "COLOR", "valueFrom": { "configMapKeyRef": { "name": "map", "key": "color" } } },
                { "name": "NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
            ],
            "volumeMounts": [
                { "name": "map", "mountPath": "/map" }, { "name": "word", "mountPath": "/word" },
                { "name": "sa", "mountPath": "/sa" }, { "name": "host", "mountPath": "/host" },
            ],
        }],
        "volumes": [
            { "name": "map", "configMap": { "name": "map" } },
            { "name": "word", "secret": { "secretName": "word" } },
            { "name": "host", "hostPath": { "path": "/var/x", "type": "DirectoryOrCreate" } },
            { "name": "sa", "projected": { "sources": [
                { "serviceAccountToken": { "path": "token" } },
                { "configMap": { "name": "kube-root-ca.crt" } },
                { "downwardAPI": { "items": [{ "path": "namespace",
                    "fieldRef": { "fieldPath": "metadata.namespace" } }] } },
            ] } },
        ],
    });
    cluster.pod("a", script, spec);
    cluster.until("a", "/status/phase", json!("Succeeded")).await;
    insta::assert_snapshot!(cluster.log("a", &LogOptions::default()).await, @"
    redsesamedefaultcertificateca.crt
    namespace
    token
    red node-1
    127.0.0.1:6443
    ");
    let host = cluster.directory.path().join("sandbox/nodes/node-1/host/var/x/file");
    assert_eq!(std::fs::read_to_string(host).unwrap(), "there\n");
}

#[tokio::test]
async fn a_crash_is_followed_by_another_run_and_then_by_a_wait() {
    let cluster = Cluster::new().await;
    cluster.pod("a", "echo run; exit 1", json!({}));
    let reason = "/status/containerStatuses/0/state/waiting/reason";
    let pod = cluster.until("a", reason, json!("CrashLoopBackOff")).await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["restartCount"], json!(1));
    assert_eq!(status["lastState"]["terminated"]["exitCode"], json!(1));
    assert_eq!(pod["status"]["phase"], json!("Running"));
    let message = status["state"]["waiting"]["message"].as_str().unwrap();
    assert!(message.starts_with("back-off 10s restarting failed container=main pod=a_default("));
    let previous = LogOptions { previous: true, ..LogOptions::default() };
    assert_eq!(cluster.log("a", &previous).await, "run\n");
}

#[tokio::test]
async fn a_deleted_pod_is_asked_to_end_and_then_goes() {
    let cluster = Cluster::new().await;
    let script = "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let pod = cluster.pod("a", script, json!({}));
    let pod_directory = cluster.directory.path().join("sandbox/nodes/node-1/pods");
    cluster.until("a", "/status/phase", json!("Running")).await;
    let follow = LogOptions { follow: true, ..LogOptions::default() };
    let mut log = cluster.nodes.logs().log("default", "a", &follow).unwrap().unwrap();
    assert_eq!(log.next().await.unwrap().unwrap(), "ready\n");
    cluster.client.delete(&pod, Propagation::Background).unwrap();
    assert_eq!(log.next().await.unwrap().unwrap(), "asked\n");
    assert!(log.next().await.is_none());
    cluster.until_gone("a").await;
    assert!(cluster.events("a").contains("Normal Killing Stopping container main"));
    let left = || std::fs::read_dir(&pod_directory).unwrap().count();
    while left() > 0 {
        moment().await;
    }
}

#[tokio::test]
async fn whoever_does_not_end_in_time_is_killed() {
    let cluster = Cluster::new().await;
    let script = "trap '' TERM; while :; do sleep 0.05; done";
    let pod = cluster.pod("a", script, json!({ "terminationGracePeriodSeconds": 1 }));
    cluster.until("a", "/status/phase", json!("Running")).await;
    cluster.client.delete(&pod, Propagation::Background).unwrap();
    cluster.until_gone("a").await;
}

#[tokio::test]
async fn a_deadline_ends_a_pod() {
    let cluster = Cluster::new().await;
    let spec = json!({ "activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": 1 });
    cluster.pod("a", "sleep 100", spec);
    let pod = cluster.until("a", "/status/phase", json!("Failed")).await;
    assert_eq!(pod["status"]["reason"], json!("DeadlineExceeded"));
    let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(ended["exitCode"], json!(143));
}

#[tokio::test]
async fn probes_decide_on_readiness_and_life() {
    let cluster = Cluster::new().await;
    if cluster.nodes.mode().confinement == Confinement::Plain {
        skip::test("probes need a root of their own, which this host does not permit");
        return;
    }
    let probe = |command: &str| {
        json!({ "exec": { "command": ["/bin/sh", "-c", command] },
        "periodSeconds": 1, "failureThreshold": 1 })
    };
    let spec = json!({
        "terminationGracePeriodSeconds": 1,
        "containers": [{ "readinessProbe": probe("[ -e /tmp/ready ]"),
            "livenessProbe": probe("[ ! -e /tmp/dead ]") }],
    });
    cluster.pod("a", "sleep 1; touch /tmp/ready; sleep 2; touch /tmp/dead; sleep 100", spec);
    cluster.until("a", "/status/containerStatuses/0/ready", json!(true)).await;
    cluster.until("a", "/status/containerStatuses/0/restartCount", json!(1)).await;
    assert!(
        cluster.events("a").contains("Container main failed liveness probe, will be restarted")
    );
}

#[tokio::test]
async fn what_is_missing_is_waited_for() {
    let cluster = Cluster::new().await;
    cluster.pod("image", "", json!({ "containers": [{ "image": "none:1" }] }));
    let reason = "/status/containerStatuses/0/state/waiting/reason";
    let pod = cluster.until("image", reason, json!("ErrImagePull")).await;
    let message = &pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"];
    let message = message.as_str().unwrap();
    assert!(message.starts_with("image \"none:1\" is in no OCI layout"));

    let env =
        json!([{ "name": "A", "valueFrom": { "secretKeyRef": { "name": "no", "key": "k" } } }]);
    cluster.pod("config", "", json!({ "containers": [{ "env": env }] }));
    let pod = cluster.until("config", reason, json!("CreateContainerConfigError")).await;
    let message = &pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"];
    assert_eq!(message, &json!("secret \"no\" not found"));

    cluster.pod(
        "program",
        "",
        json!({ "restartPolicy": "Never",
        "containers": [{ "command": ["none"] }] }),
    );
    let pod = cluster.until("program", "/status/phase", json!("Failed")).await;
    let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(128), &json!("StartError")));

    let volumes = json!([{ "name": "v", "configMap": { "name": "late" } }]);
    cluster.pod("volume", "true", json!({ "restartPolicy": "Never", "volumes": volumes }));
    let mut watcher = cluster.client.watch::<k8s_openapi::api::core::v1::Event>().unwrap();
    while !cluster.events("volume").contains("FailedMount") {
        watcher.next().await.unwrap();
    }
    let metadata = json!({ "name": "late", "namespace": "default" });
    cluster.create::<ConfigMap>(json!({ "metadata": metadata }));
    cluster.until("volume", "/status/phase", json!("Succeeded")).await;
}

#[tokio::test]
async fn nodes_are_registered_and_ready() {
    let cluster = Cluster::new().await;
    let nodes = cluster.client.list::<Node>("").unwrap();
    let ready = |node: &Node| {
        let conditions = node.status.clone().unwrap_or_default().conditions.unwrap_or_default();
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    assert_eq!(nodes.iter().filter(|node| ready(node)).count(), 2);
    let mode = std::fs::metadata(cluster.directory.path().join("sandbox")).unwrap().permissions();
    assert_ne!(mode.mode() & 0o700, 0);
    assert!(cluster.client.get::<Pod>("default", "none").unwrap().is_none());
}
