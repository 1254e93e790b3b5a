//! [`TestNodes`].

use std::sync::Arc;
use std::time::Duration;

use fairway_registry::layout;
use fairway_sandbox::api::{Api, Client};
use fairway_sandbox::node::logs::LogOptions;
use fairway_sandbox::node::{NodeOptions, Nodes};
use fairway_sandbox::token::Tokens;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Event, Namespace, Pod, ServiceAccount};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::runtime::{PROGRAM, shell_image};

/// Longer than any pod of these tests needs on a busy host.
const POD_TIMEOUT: Duration = Duration::from_mins(1);

/// Two nodes of a sandbox, whose API has no network.
pub(crate) struct TestNodes {
    pub(crate) client: Client,
    pub(crate) inner: Nodes,
    pub(crate) directory: TempDir,
    _cancel: DropGuard,
}

impl TestNodes {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        layout::write(&directory.path().join("images/shell"), &shell_image(), "latest").unwrap();
        let client = Api::default().client("test");
        let cancel = CancellationToken::new();
        let options = NodeOptions {
            directory: directory.path().join("sandbox"),
            names: vec!["node-1".to_owned(), "node-2".to_owned()],
            images: vec![directory.path().join("images")],
            program: PROGRAM.into(),
            api_server: "127.0.0.1:6443".parse().unwrap(),
            ca: "certificate".to_owned(),
            tokens: Arc::new(Tokens::create("https://127.0.0.1:6443").unwrap()),
        };
        let inner = Nodes::start(client.clone(), options, cancel.clone()).await.unwrap();
        let this = Self { client, inner, directory, _cancel: cancel.drop_guard() };
        if this.client.get::<Namespace>("", "default").unwrap().is_none() {
            this.create::<Namespace>(json!({ "metadata": { "name": "default" } }));
        }
        let account = json!({ "metadata": { "name": "default", "namespace": "default" } });
        if this.client.get::<ServiceAccount>("default", "default").unwrap().is_none() {
            this.create::<ServiceAccount>(account);
        }
        this
    }

    pub(crate) fn create<K>(&self, object: Value) -> K
    where
        K: k8s_openapi::Resource
            + k8s_openapi::Metadata<Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>
            + serde::Serialize
            + serde::de::DeserializeOwned
            + Clone
            + Send
            + Sync,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.client.create(&object).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// A pod on the first node, with a script in its first container unless that has a command.
    pub(crate) fn pod(&self, name: &str, script: &str, spec: Value) -> Pod {
        let mut spec = spec;
        spec["nodeName"] = json!("node-1");
        if spec["containers"].is_null() {
            spec["containers"] = json!([{}]);
        }
        for containers in ["initContainers", "containers"] {
            for container in spec[containers].as_array_mut().into_iter().flatten() {
                let fields = container.as_object_mut().unwrap();
                fields.entry("name").or_insert(json!("main"));
                fields.entry("image").or_insert(json!("shell"));
                fields.entry("command").or_insert(json!(["/bin/sh", "-c", script]));
            }
        }
        let metadata = json!({ "name": name, "namespace": "default" });
        self.create(json!({ "metadata": metadata, "spec": spec }))
    }

    pub(crate) fn get(&self, name: &str) -> Option<Value> {
        let pod = self.client.get::<Pod>("default", name).unwrap()?;
        Some(serde_json::to_value(pod).unwrap())
    }

    /// Waits until a field of a pod has that value; returns the pod.
    pub(crate) async fn wait_until(&self, name: &str, pointer: &str, value: Value) -> Value {
        let mut watcher = self.client.watch::<Pod>().unwrap();
        let waiting = async {
            loop {
                if let Some(pod) = self.get(name)
                    && pod.pointer(pointer) == Some(&value)
                {
                    return pod;
                }
                watcher.next().await.unwrap();
            }
        };
        let waited = timeout(POD_TIMEOUT, waiting).await;
        waited.unwrap_or_else(|_| {
            panic!(
                "no {value} at {pointer}: {:#}\n{}",
                self.get(name).unwrap_or_default(),
                self.events(name)
            )
        })
    }

    pub(crate) async fn wait_until_gone(&self, name: &str) {
        let mut watcher = self.client.watch::<Pod>().unwrap();
        let waiting = async {
            while self.get(name).is_some() {
                watcher.next().await.unwrap();
            }
        };
        timeout(POD_TIMEOUT, waiting).await.unwrap();
    }

    pub(crate) async fn logs(&self, name: &str, options: &LogOptions) -> String {
        let stream = self.inner.logs().log("default", name, options).unwrap().unwrap();
        let pieces: Vec<_> = stream.collect().await;
        let bytes = pieces.into_iter().flat_map(|piece| piece.unwrap().to_vec()).collect();
        String::from_utf8(bytes).unwrap()
    }

    /// The events of a pod, as `Type Reason Message`.
    pub(crate) fn events(&self, name: &str) -> String {
        let events = self.client.list::<Event>("default").unwrap();
        let about =
            events.iter().filter(|event| event.involved_object.name.as_deref() == Some(name));
        let line = |event: &Event| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("{} {} {}", text(&event.type_), text(&event.reason), text(&event.message))
        };
        about.map(line).collect::<Vec<_>>().join("\n")
    }
}
