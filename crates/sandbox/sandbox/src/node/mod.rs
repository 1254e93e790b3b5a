//! Nodes: what runs the pods that are bound to them.
//!
//! Each pod has a [`worker`]: a task that hears what happens to the pod and to its containers, asks
//! the pure functions of `state` what has to happen next, does it, and reports what `status` makes
//! of it. Containers are processes of this machine, started by the [`runtime`]; pods use the
//! machine's network, and host paths of their node.

mod backoff;
mod environment;
mod events;
mod files;
mod identity;
mod images;
pub mod logs;
mod machine;
mod probes;
pub mod runtime;
mod state;
mod status;
mod unverified;
mod volumes;
mod worker;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::{Client, Refusal};
use crate::store::EventKind;
use crate::token::Tokens;
use files::remove_tree;
use images::Images;
pub(crate) use images::layouts_in;
use logs::Logs;
use runtime::{Mode, Runtime};
use worker::{Context, Worker};

/// How nodes are to be.
#[derive(Clone)]
pub struct NodeOptions {
    /// Where pods, images and the host paths of nodes are.
    pub directory: PathBuf,
    /// What the nodes are called.
    pub names: Vec<String>,
    /// OCI layout directories, or directories of them, with the images that pods can use.
    pub images: Vec<PathBuf>,
    /// The program that is started again as a container's first process.
    pub program: PathBuf,
    /// Where pods find the API.
    pub api_server: SocketAddr,
    /// The certificate by which they know it, in PEM.
    pub ca: String,
    /// What makes the tokens of their service accounts.
    pub tokens: Arc<Tokens>,
}

/// Why there are no nodes.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Their directory cannot be used, or their program cannot be started.
    #[error("cannot prepare the node directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The API does not want them.
    #[error("cannot register nodes")]
    Api(#[from] Refusal),
}

/// Nodes that run pods, until they are cancelled.
#[derive(Clone)]
pub struct Nodes {
    logs: Logs,
    mode: Mode,
    tracker: TaskTracker,
}

impl Nodes {
    /// Cleans up what an earlier sandbox left, registers the nodes, and runs their pods.
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
            machine::register(&client, name)?;
            let alive = machine::stay_alive(client.clone(), name.clone(), cancel.clone());
            tracker.spawn(alive);
        }
        let mode = runtime.mode().clone();
        let context = Arc::new(Context {
            images: Images::new(options.images.clone(), directory.join("images")),
            options: NodeOptions { directory, ..options },
            client,
            runtime,
            logs: logs.clone(),
        });
        let nodes = Self { logs, mode, tracker: tracker.clone() };
        tracker.spawn(dispatch(context, tracker.clone(), cancel));
        Ok(nodes)
    }

    /// What containers write.
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// How containers are kept apart, and why not better.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Waits until nothing runs any more, after they were cancelled.
    pub async fn ended(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// The pods that have a worker, by their uid.
type Workers = BTreeMap<String, watch::Sender<Option<Arc<Pod>>>>;

/// Tells the workers what happens to their pods.
async fn dispatch(context: Arc<Context>, tracker: TaskTracker, cancel: CancellationToken) {
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
            let event = tokio::select! {
                () = cancel.cancelled() => return,
                event = watcher.next() => event,
            };
            let Some(event) = event else { break };
            let Ok(pod) = Pod::deserialize(&*event.object) else { continue };
            let gone = event.kind == EventKind::Deleted;
            pass_on(&context, &tracker, &cancel, &mut workers, pod, gone);
        }
        // The watch was cut: what it did not show again may be gone.
        if watcher.end() == Some(crate::store::WatchEnd::Closed) {
            return;
        }
        let known = context.client.list::<Pod>("").unwrap_or_default();
        let known: Vec<_> = known.into_iter().filter_map(|pod| pod.metadata.uid).collect();
        workers.retain(|uid, worker| known.contains(uid) || worker.send(None).is_err());
    }
}

fn pass_on(
    context: &Arc<Context>,
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
    let worker = Worker::new(Arc::clone(context), &node, pod);
    tracker.spawn(worker.run(receiver, cancel.clone()));
}
