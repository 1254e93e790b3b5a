//! Pods that run a script.

use anyhow::{Result, ensure};
use fairway_testkit::wait;
use futures::future::try_join_all;
use serde_json::{Value, json};

use super::{Answer, Case};

/// A container that runs a script.
pub(crate) fn container(name: &str, image: &str, script: &str) -> Value {
    json!({ "name": name, "image": image, "command": ["/bin/sh", "-c", script] })
}

/// What a pod is, with one container that runs a script once.
pub(crate) fn once(image: &str, script: &str) -> Value {
    json!({
        "containers": [container("main", image, script)],
        "restartPolicy": "Never",
        // The real cluster of the tests has no network for pods.
        "hostNetwork": true,
        // Nothing is lost with a pod of a test.
        "terminationGracePeriodSeconds": 1,
    })
}

/// Gives all containers of a pod one directory, `/shared`.
pub(crate) fn share(spec: &mut Value) {
    spec["volumes"] = json!([{ "name": "shared", "emptyDir": {} }]);
    for kind in ["initContainers", "containers"] {
        for container in spec.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
            container["volumeMounts"] = json!([{ "name": "shared", "mountPath": "/shared" }]);
        }
    }
}

/// A pod with that specification.
pub(crate) fn pod(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec })
}

/// Whether a pod has come to its end.
pub(crate) fn ended(pod: &Value) -> bool {
    ["Succeeded", "Failed"].iter().any(|phase| pod["status"]["phase"] == *phase)
}

/// Whether a pod was refused because its account, or the account's token, is not there yet.
fn is_too_early(answer: &Answer) -> bool {
    !answer.succeeded() && answer.shown().contains("service account")
}

impl Case {
    /// The image for scripts.
    pub(crate) async fn shell(&self) -> Result<String> {
        self.cluster.shell_image(&[]).await
    }

    /// Creates a pod, as soon as its namespace takes pods.
    pub(crate) async fn start(&self, name: &str, spec: &Value) -> Result<Value> {
        let answer = wait::until("a namespace that takes pods", || async {
            let answer = self.create("pods", &pod(name, spec)).await?;
            Ok(Some(answer).filter(|answer| !is_too_early(answer)))
        });
        answer.await?.object()
    }

    /// Runs a pod to its end.
    pub(crate) async fn run(&self, name: &str, spec: &Value) -> Result<Value> {
        self.start(name, spec).await?;
        self.until(&format!("pods/{name}"), "to end", ended).await
    }

    /// Runs pods to their ends, side by side.
    pub(crate) async fn run_all(&self, pods: &[(&str, Value)]) -> Result<Vec<Value>> {
        try_join_all(pods.iter().map(|(name, spec)| self.run(name, spec))).await
    }

    /// Runs a script in a pod to its end; what it printed.
    pub(crate) async fn printed(&self, script: &str) -> Result<String> {
        self.run("printing", &once(&self.shell().await?, script)).await?;
        self.log("pods/printing/log").await
    }

    /// What a container printed.
    pub(crate) async fn log(&self, path: &str) -> Result<String> {
        let answer = self.get(path).await?;
        ensure!(answer.status == 200, "no log: {}", answer.shown());
        Ok(answer.text())
    }
}
