//! Objects that several cases use, and pods that run a script.

use anyhow::{Result, ensure};
use fairway_testkit::wait;
use futures::future::try_join_all;
use serde_json::{Value, json};

use super::{ApiResponse, Case};

/// A ConfigMap.
pub(crate) fn config_map(name: &str, data: Value) -> Value {
    let mut object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    object["data"] = data;
    object
}

/// A Deployment `d` with these containers and 0 replicas.
pub(crate) fn idle_deployment(containers: Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": "d" } },
            "template": { "metadata": { "labels": { "app": "d" } }, "spec": {} },
        },
    });
    deployment["spec"]["template"]["spec"]["containers"] = containers;
    deployment
}

/// A ConfigMap with a finalizer.
pub(crate) fn held_config_map(name: &str) -> Value {
    let mut object = config_map(name, json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/wait"]);
    object
}

/// Whether an object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// A container that runs a script.
pub(crate) fn container(name: &str, image: &str, script: &str) -> Value {
    json!({ "name": name, "image": image, "command": ["/bin/sh", "-c", script] })
}

/// A pod spec with one container that runs a script once.
pub(crate) fn once(image: &str, script: &str) -> Value {
    json!({
        "containers": [container("main", image, script)],
        "restartPolicy": "Never",
        // The real cluster of the tests has no pod network.
        "hostNetwork": true,
        // Test pods need no graceful termination.
        "terminationGracePeriodSeconds": 1,
    })
}

/// Mounts one volume at `/shared` in all containers.
pub(crate) fn share_directory(spec: &mut Value) {
    spec["volumes"] = json!([{ "name": "shared", "emptyDir": {} }]);
    for kind in ["initContainers", "containers"] {
        for container in spec.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
            container["volumeMounts"] = json!([{ "name": "shared", "mountPath": "/shared" }]);
        }
    }
}

/// A pod with this spec.
pub(crate) fn pod(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec })
}

/// Whether a pod succeeded or failed.
pub(crate) fn ended(pod: &Value) -> bool {
    ["Succeeded", "Failed"].iter().any(|phase| pod["status"]["phase"] == *phase)
}

/// Whether a pod was refused because its ServiceAccount or token does not exist yet.
fn is_too_early(answer: &ApiResponse) -> bool {
    !answer.succeeded() && answer.shown().contains("service account")
}

impl Case {
    /// The image for scripts.
    pub(crate) async fn shell(&self) -> Result<String> {
        self.cluster.shell_image(&[]).await
    }

    /// Creates a pod as soon as its namespace accepts pods.
    pub(crate) async fn start(&self, name: &str, spec: &Value) -> Result<Value> {
        let answer = wait::until("a namespace that takes pods", || async {
            let answer = self.create("pods", &pod(name, spec)).await?;
            Ok(Some(answer).filter(|answer| !is_too_early(answer)))
        });
        answer.await?.object()
    }

    /// Runs a pod to completion.
    pub(crate) async fn run(&self, name: &str, spec: &Value) -> Result<Value> {
        self.start(name, spec).await?;
        self.until(&format!("pods/{name}"), "to end", ended).await
    }

    /// Runs pods to completion concurrently.
    pub(crate) async fn run_all(&self, pods: &[(&str, Value)]) -> Result<Vec<Value>> {
        try_join_all(pods.iter().map(|(name, spec)| self.run(name, spec))).await
    }

    /// Runs a script in a pod to completion; returns its output.
    pub(crate) async fn printed(&self, script: &str) -> Result<String> {
        self.run("printing", &once(&self.shell().await?, script)).await?;
        self.log("pods/printing/log").await
    }

    /// Output of a container.
    pub(crate) async fn log(&self, path: &str) -> Result<String> {
        let answer = self.get(path).await?;
        ensure!(answer.status == 200, "no log: {}", answer.shown());
        Ok(answer.text())
    }
}
