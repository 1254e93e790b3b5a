//! Nodes: run the pods that are bound to them, as kubelets do.
//!
//! Each pod has a `worker` task. It receives changes of the pod and events of its containers,
//! computes the next actions with the pure functions of `state`, executes them, and writes the
//! status that `status` computes. Containers are processes of the host, started by the [`runtime`].
//! Pods use the network of the host, and host paths below the directory of their node.
//!
//! | module | content |
//! | --- | --- |
//! | `registration` | the Node object and its Lease |
//! | `worker` | the task of one pod: start, termination, volumes on disk |
//! | `state`, `status` | next actions of a pod, and its status |
//! | [`runtime`] | start and exit of containers |
//! | `identity`, `environment` | command, user, capabilities and environment of a container |
//! | `images` | images from OCI layouts |
//! | `volumes`, `files` | contents of volumes, and files of pods on the host |
//! | `probes` | startup, readiness and liveness probes |
//! | [`logs`] | container logs in the CRI format |

mod environment;
mod files;
mod identity;
mod images;
pub mod logs;
mod probes;
mod registration;
pub mod runtime;
mod state;
mod status;
mod volumes;
mod worker;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use files::remove_tree;
use images::ImageStore;
use k8s_openapi::api::core::v1::Pod;
use logs::Logs;
use runtime::{Mode, Runtime};
use serde::Deserialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use worker::{NodeContext, PodWorker};

use crate::api::{Client, StatusError};
use crate::store::EventKind;
use crate::token::Tokens;

pub(crate) use images::layouts_in;

/// Options of the nodes.
#[derive(Clone)]
pub struct NodeOptions {
    /// Directory for pods, images and host paths.
    pub directory: PathBuf,
    /// Names of the nodes.
    pub names: Vec<String>,
    /// OCI layout directories, or directories of them, with the available images.
    pub images: Vec<PathBuf>,
    /// Binary that is started as the init process of containers.
    pub program: PathBuf,
    /// Address of the API server for pods.
    pub api_server: SocketAddr,
    /// CA certificate of the API server (PEM).
    pub ca: String,
    /// Issuer of ServiceAccount tokens.
    pub tokens: Arc<Tokens>,
}

/// Error while starting nodes.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The directory cannot be used, or the binary cannot be started.
    #[error("cannot prepare the node directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The API server refused the registration.
    #[error("cannot register nodes")]
    Api(#[from] StatusError),
}

/// Nodes that run pods until they are cancelled.
#[derive(Clone)]
pub struct Nodes {
    logs: Logs,
    mode: Mode,
    tracker: TaskTracker,
}

impl Nodes {
    /// Removes files of an earlier sandbox, registers the nodes, and runs their pods.
    pub async fn start(
        client: Client,
        options: NodeOptions,
        cancel: CancellationToken,
    ) -> Result<Self, NodeError> {
        let failed = |source| NodeError::Directory { path: options.directory.clone(), source };
        for name in &options.names {
            remove_tree(&options.directory.join("nodes").join(name).join("pods"))
                .map_err(failed)?;
        }
        std::fs::create_dir_all(&options.directory).map_err(failed)?;
        let directory = options.directory.canonicalize().map_err(failed)?;
        let probe = directory.join("probe");
        remove_tree(&probe).map_err(failed)?;
        let runtime = Runtime::probe(options.program.clone(), &probe).await.map_err(failed)?;
        for refusal in &runtime.mode().refusals {
            tracing::info!(reason = refusal, "container isolation reduced");
        }
        let (logs, tracker) = (Logs::new(&client), TaskTracker::new());
        for name in &options.names {
            registration::register(&client, name)?;
            let alive = registration::renew_lease(client.clone(), name.clone(), cancel.clone());
            tracker.spawn(alive);
        }
        let mode = runtime.mode().clone();
        let context = Arc::new(NodeContext {
            images: ImageStore::new(options.images.clone(), directory.join("images")),
            options: NodeOptions { directory, ..options },
            client,
            runtime,
            logs: logs.clone(),
        });
        let nodes = Self { logs, mode, tracker: tracker.clone() };
        tracker.spawn(dispatch(context, tracker.clone(), cancel));
        Ok(nodes)
    }

    /// The container logs.
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// How containers are isolated, and why not better.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Waits until all pods have stopped after cancellation.
    pub async fn ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// Channels of the workers, by pod UID. `None` means that the pod is deleted.
type Workers = BTreeMap<String, watch::Sender<Option<Arc<Pod>>>>;

/// Watches pods and forwards changes to their workers.
async fn dispatch(context: Arc<NodeContext>, tracker: TaskTracker, cancel: CancellationToken) {
    let mut workers = Workers::new();
    loop {
        let mut watcher = match context.client.watch::<Pod>() {
            Ok(watcher) => watcher,
            Err(refusal) => {
                tracing::error!(error = %refusal, "cannot watch pods");
                return;
            }
        };
        loop {
            // Workers watch the same token and stop by themselves.
            let event = tokio::select! {
                () = cancel.cancelled() => return,
                event = watcher.next() => event,
            };
            let Some(event) = event else { break };
            let Ok(pod) = Pod::deserialize(&*event.object) else { continue };
            let gone = event.kind == EventKind::Deleted;
            forward(&context, &tracker, &cancel, &mut workers, pod, gone);
        }
        // The watch expired: pods may have been deleted without an event.
        if watcher.end() == Some(crate::store::WatchEnd::Closed) {
            return;
        }
        let known = context.client.list::<Pod>("").unwrap_or_default();
        let known: Vec<_> = known.into_iter().filter_map(|pod| pod.metadata.uid).collect();
        workers.retain(|uid, worker| known.contains(uid) || worker.send(None).is_err());
    }
}

fn forward(
    context: &Arc<NodeContext>,
    tracker: &TaskTracker,
    cancel: &CancellationToken,
    workers: &mut Workers,
    pod: Pod,
    gone: bool,
) {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    workers.retain(|_, worker| !worker.is_closed());
    if gone {
        if let Some(worker) = workers.remove(&uid) {
            worker.send_replace(None);
        }
        return;
    }
    if let Some(worker) = workers.get(&uid) {
        worker.send_replace(Some(Arc::new(pod)));
        return;
    }
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let is_over = matches!(phase, Some("Succeeded" | "Failed"));
    if !context.options.names.contains(&node)
        || (is_over && pod.metadata.deletion_timestamp.is_none())
    {
        return;
    }
    let (sender, receiver) = watch::channel(Some(Arc::new(pod.clone())));
    workers.insert(uid, sender);
    let worker = PodWorker::new(Arc::clone(context), &node, pod);
    tracker.spawn(worker.run(receiver, cancel.clone()));
}
