//! Lifecycle of pods.

use std::os::unix::fs::PermissionsExt;

use fairway_fixtures::skip;
use fairway_sandbox::api::Propagation;
use fairway_sandbox::init::Confinement;
use fairway_sandbox::node::logs::LogOptions;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Secret};
use serde_json::json;

use crate::nodes::TestNodes;
use crate::runtime::poll_interval;

#[tokio::test]
async fn pod_with_failing_script_fails_with_log_and_events() {
    let nodes = TestNodes::start().await;
    let script = "echo hello; echo bye > /dev/termination-log; exit 3";
    nodes.pod("a", script, json!({ "restartPolicy": "Never" }));
    let pod = nodes.wait_until("a", "/status/phase", json!("Failed")).await;
    let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(3), &json!("Error")));
    if nodes.inner.mode().confinement != Confinement::Plain {
        assert_eq!(ended["message"], json!("bye\n"));
    }
    assert_eq!(nodes.logs("a", &LogOptions::default()).await, "hello\n");
    insta::assert_snapshot!(nodes.events("a"), @r#"
    Normal Pulled Container image "shell" already present on machine
    Normal Created Created container: main
    Normal Started Started container main
    "#);
}

#[tokio::test]
async fn init_containers_run_first_and_share_volumes() {
    let nodes = TestNodes::start().await;
    let volume = json!([{ "name": "v", "mountPath": "/v" }]);
    nodes.pod(
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
    nodes.wait_until("a", "/status/phase", json!("Succeeded")).await;
    let options = LogOptions { container: Some("main".to_owned()), ..LogOptions::default() };
    assert_eq!(nodes.logs("a", &options).await, "made\n");
}

#[tokio::test]
async fn volumes_and_variables_have_data_of_objects() {
    let nodes = TestNodes::start().await;
    let metadata = |name: &str| json!({ "name": name, "namespace": "default" });
    nodes.create::<ConfigMap>(json!({ "metadata": metadata("map"), "data": { "color": "red" } }));
    nodes.create::<Secret>(json!({ "metadata": metadata("word"), "data": { "w": "c2VzYW1l" } }));
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
    nodes.pod("a", script, spec);
    nodes.wait_until("a", "/status/phase", json!("Succeeded")).await;
    insta::assert_snapshot!(nodes.logs("a", &LogOptions::default()).await, @"
    redsesamedefaultcertificateca.crt
    namespace
    token
    red node-1
    127.0.0.1:6443
    ");
    let host = nodes.directory.path().join("sandbox/nodes/node-1/host/var/x/file");
    assert_eq!(std::fs::read_to_string(host).unwrap(), "there\n");
}

#[tokio::test]
async fn crashing_container_restarts_once_and_then_backs_off() {
    let nodes = TestNodes::start().await;
    nodes.pod("a", "echo run; exit 1", json!({}));
    let reason = "/status/containerStatuses/0/state/waiting/reason";
    let pod = nodes.wait_until("a", reason, json!("CrashLoopBackOff")).await;
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["restartCount"], json!(1));
    assert_eq!(status["lastState"]["terminated"]["exitCode"], json!(1));
    assert_eq!(pod["status"]["phase"], json!("Running"));
    let message = status["state"]["waiting"]["message"].as_str().unwrap();
    assert!(message.starts_with("back-off 10s restarting failed container=main pod=a_default("));
    let previous = LogOptions { previous: true, ..LogOptions::default() };
    assert_eq!(nodes.logs("a", &previous).await, "run\n");
}

#[tokio::test]
async fn deleted_pod_gets_sigterm_and_is_removed() {
    let nodes = TestNodes::start().await;
    let script = "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let pod = nodes.pod("a", script, json!({}));
    let pod_directory = nodes.directory.path().join("sandbox/nodes/node-1/pods");
    nodes.wait_until("a", "/status/phase", json!("Running")).await;
    let follow = LogOptions { follow: true, ..LogOptions::default() };
    let mut log = nodes.inner.logs().log("default", "a", &follow).unwrap().unwrap();
    assert_eq!(log.next().await.unwrap().unwrap(), "ready\n");
    nodes.client.delete(&pod, Propagation::Background).unwrap();
    assert_eq!(log.next().await.unwrap().unwrap(), "asked\n");
    assert!(log.next().await.is_none());
    nodes.wait_until_gone("a").await;
    assert!(nodes.events("a").contains("Normal Killing Stopping container main"));
    let left = || std::fs::read_dir(&pod_directory).unwrap().count();
    while left() > 0 {
        poll_interval().await;
    }
}

#[tokio::test]
async fn deleted_pod_that_ignores_sigterm_is_killed() {
    let nodes = TestNodes::start().await;
    let script = "trap '' TERM; while :; do sleep 0.05; done";
    let pod = nodes.pod("a", script, json!({ "terminationGracePeriodSeconds": 1 }));
    nodes.wait_until("a", "/status/phase", json!("Running")).await;
    nodes.client.delete(&pod, Propagation::Background).unwrap();
    nodes.wait_until_gone("a").await;
}

#[tokio::test]
async fn pod_with_active_deadline_fails() {
    let nodes = TestNodes::start().await;
    let spec = json!({ "activeDeadlineSeconds": 1, "terminationGracePeriodSeconds": 1 });
    nodes.pod("a", "sleep 100", spec);
    let pod = nodes.wait_until("a", "/status/phase", json!("Failed")).await;
    assert_eq!(pod["status"]["reason"], json!("DeadlineExceeded"));
    let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(ended["exitCode"], json!(143));
}

#[tokio::test]
async fn probes_set_readiness_and_restart_containers() {
    let nodes = TestNodes::start().await;
    if nodes.inner.mode().confinement == Confinement::Plain {
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
    nodes.pod("a", "sleep 1; touch /tmp/ready; sleep 2; touch /tmp/dead; sleep 100", spec);
    nodes.wait_until("a", "/status/containerStatuses/0/ready", json!(true)).await;
    nodes.wait_until("a", "/status/containerStatuses/0/restartCount", json!(1)).await;
    assert!(nodes.events("a").contains("Container main failed liveness probe, will be restarted"));
}

#[tokio::test]
async fn pod_with_missing_image_config_or_volume_waits() {
    let nodes = TestNodes::start().await;
    nodes.pod("image", "", json!({ "containers": [{ "image": "none:1" }] }));
    let reason = "/status/containerStatuses/0/state/waiting/reason";
    let pod = nodes.wait_until("image", reason, json!("ErrImagePull")).await;
    let message = &pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"];
    let message = message.as_str().unwrap();
    assert!(message.starts_with("image \"none:1\" not found in the OCI layouts"));

    let env =
        json!([{ "name": "A", "valueFrom": { "secretKeyRef": { "name": "no", "key": "k" } } }]);
    nodes.pod("config", "", json!({ "containers": [{ "env": env }] }));
    let pod = nodes.wait_until("config", reason, json!("CreateContainerConfigError")).await;
    let message = &pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"];
    assert_eq!(message, &json!("secret \"no\" not found"));

    nodes.pod(
        "program",
        "",
        json!({ "restartPolicy": "Never",
        "containers": [{ "command": ["none"] }] }),
    );
    let pod = nodes.wait_until("program", "/status/phase", json!("Failed")).await;
    let ended = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(128), &json!("StartError")));

    let volumes = json!([{ "name": "v", "configMap": { "name": "late" } }]);
    nodes.pod("volume", "true", json!({ "restartPolicy": "Never", "volumes": volumes }));
    let mut watcher = nodes.client.watch::<k8s_openapi::api::core::v1::Event>().unwrap();
    while !nodes.events("volume").contains("FailedMount") {
        watcher.next().await.unwrap();
    }
    let metadata = json!({ "name": "late", "namespace": "default" });
    nodes.create::<ConfigMap>(json!({ "metadata": metadata }));
    nodes.wait_until("volume", "/status/phase", json!("Succeeded")).await;
}

#[tokio::test]
async fn started_nodes_are_ready() {
    let nodes = TestNodes::start().await;
    let registered = nodes.client.list::<Node>("").unwrap();
    let ready = |node: &Node| {
        let conditions = node.status.clone().unwrap_or_default().conditions.unwrap_or_default();
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    assert_eq!(registered.iter().filter(|node| ready(node)).count(), 2);
    let mode = std::fs::metadata(nodes.directory.path().join("sandbox")).unwrap().permissions();
    assert_ne!(mode.mode() & 0o700, 0);
    assert!(nodes.client.get::<Pod>("default", "none").unwrap().is_none());
}
