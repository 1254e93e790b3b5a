//! What containers write, kept and read.

mod file;
mod query;
mod read;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream::BoxStream;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use tokio::sync::watch;

use crate::api::{Client, Refusal};

pub(crate) use file::{Progress, pump};
pub use query::LogOptions;

/// What a container wrote, piece by piece.
pub type LogStream = BoxStream<'static, io::Result<Bytes>>;

/// The logs of all containers. Clones are handles to the same logs.
#[derive(Clone)]
pub struct Logs {
    client: Client,
    runs: Arc<Mutex<BTreeMap<ContainerKey, Vec<Run>>>>,
}

/// The uid of a pod and the name of a container.
type ContainerKey = (String, String);

/// One run of a container.
#[derive(Clone, Debug)]
struct Run {
    path: PathBuf,
    progress: watch::Receiver<Progress>,
}

/// The newest run and the one before it: nobody can ask for older ones.
const KEPT_RUNS: usize = 2;

impl Logs {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), runs: Arc::default() }
    }

    /// What a container of a pod wrote; `None` while the pod has no node.
    pub fn log(
        &self,
        namespace: &str,
        pod: &str,
        options: &LogOptions,
    ) -> Result<Option<LogStream>, Refusal> {
        let Some(found) = self.client.get::<Pod>(namespace, pod)? else {
            return Err(self.no_such_pod(pod));
        };
        let container = query::container(&found, options)?;
        if found.spec.as_ref().is_none_or(|spec| spec.node_name.is_none()) {
            return Ok(None);
        }
        let key = (found.metadata.uid.clone().unwrap_or_default(), container.clone());
        let runs = self.lock().get(&key).cloned().unwrap_or_default();
        let position =
            if options.previous { runs.len().checked_sub(2) } else { runs.len().checked_sub(1) };
        let Some(run) = position.and_then(|position| runs.into_iter().nth(position)) else {
            return Err(query::nothing(&found, &container, options.previous));
        };
        let now = self.client.api().now();
        Ok(Some(read::stream(run.path, run.progress, options.clone(), now)))
    }

    fn no_such_pod(&self, pod: &str) -> Refusal {
        let catalog = self.client.api().catalog();
        match catalog.kind("", "Pod") {
            Some(resource) => Refusal::not_found(resource, pod),
            None => Refusal::internal("pods are not served"),
        }
    }

    /// Begins the log of another run.
    pub(crate) fn begin(
        &self,
        uid: &str,
        container: &str,
        path: &Path,
        progress: watch::Receiver<Progress>,
    ) {
        let mut runs = self.lock();
        let runs = runs.entry((uid.to_owned(), container.to_owned())).or_default();
        runs.push(Run { path: path.to_owned(), progress });
        while runs.len() > KEPT_RUNS {
            file::remove(&runs.remove(0).path);
        }
    }

    /// Forgets a pod.
    pub(crate) fn forget(&self, uid: &str) {
        self.lock().retain(|(known, _), _| known != uid);
    }

    /// The end of what the newest run wrote, for its termination message.
    pub(crate) fn tail(&self, uid: &str, container: &str, lines: usize, bytes: usize) -> String {
        let key = (uid.to_owned(), container.to_owned());
        let path = self.lock().get(&key).and_then(|runs| Some(runs.last()?.path.clone()));
        let text = path.map(|path| read::last_lines(&path, lines)).unwrap_or_default();
        text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..].to_owned()
    }

    /// Nothing that can panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ContainerKey, Vec<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A time as logs have it.
fn written(time: Timestamp) -> String {
    format!("{time:.9}")
}
