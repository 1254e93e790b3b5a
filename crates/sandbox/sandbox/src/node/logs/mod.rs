//! Container logs: writing in the CRI format, rotation and reading.
//!
//! A line is `2026-01-02T03:04:05.000000000Z stdout F text`, with `P` instead of `F` for a partial
//! line.

mod query;
mod read;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream::BoxStream;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::watch;

use crate::api::{Api, Client, StatusError};
use crate::node::runtime::Output;

pub use query::LogOptions;

/// Content of a log, in chunks.
pub type LogStream = BoxStream<'static, io::Result<Bytes>>;

/// The logs of all containers. Clones share the same logs.
#[derive(Clone)]
pub struct Logs {
    client: Client,
    runs: Arc<Mutex<BTreeMap<ContainerKey, Vec<Run>>>>,
}

/// UID of the pod and name of the container.
type ContainerKey = (String, String);

/// One run of a container.
#[derive(Clone, Debug)]
struct Run {
    path: PathBuf,
    position: watch::Receiver<LogPosition>,
}

/// Number of runs with a log: the current one and `previous`.
const MAX_RUNS: usize = 2;

impl Logs {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), runs: Arc::default() }
    }

    /// The log of a container; `None` while the pod has no node.
    pub fn log(
        &self,
        namespace: &str,
        pod: &str,
        options: &LogOptions,
    ) -> Result<Option<LogStream>, StatusError> {
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
            return Err(query::no_log(&found, &container, options.previous));
        };
        let now = self.client.api().now();
        Ok(Some(read::stream(run.path, run.position, options.clone(), now)))
    }

    fn no_such_pod(&self, pod: &str) -> StatusError {
        let catalog = self.client.api().catalog();
        match catalog.kind("", "Pod") {
            Some(resource) => StatusError::not_found(resource, pod),
            None => StatusError::internal("pods are not served"),
        }
    }

    /// Starts the log of a new run.
    pub(crate) fn begin(
        &self,
        uid: &str,
        container: &str,
        path: &Path,
        position: watch::Receiver<LogPosition>,
    ) {
        let mut runs = self.lock();
        let runs = runs.entry((uid.to_owned(), container.to_owned())).or_default();
        runs.push(Run { path: path.to_owned(), position });
        while runs.len() > MAX_RUNS {
            remove(&runs.remove(0).path);
        }
    }

    /// Removes the logs of a pod.
    pub(crate) fn forget(&self, uid: &str) {
        self.lock().retain(|(known, _), _| known != uid);
    }

    /// The last lines of the current run, for the termination message.
    pub(crate) fn tail(&self, uid: &str, container: &str, lines: usize, bytes: usize) -> String {
        let key = (uid.to_owned(), container.to_owned());
        let path = self.lock().get(&key).and_then(|runs| Some(runs.last()?.path.clone()));
        let text = path.map(|path| read::last_lines(&path, lines)).unwrap_or_default();
        text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..].to_owned()
    }

    /// No code that can panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ContainerKey, Vec<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Formats a timestamp of a log line.
fn format_time(time: Timestamp) -> String {
    format!("{time:.9}")
}

/// Size at which a log is rotated (kubelet: `containerLogMaxSize`).
const MAX_FILE_BYTES: u64 = 10 << 20;
/// Longer lines are split.
const MAX_LINE_BYTES: usize = 16 << 10;

/// Write position of a log, which readers watch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogPosition {
    /// Number of rotations.
    pub(crate) file: u64,
    /// Bytes in the current file.
    pub(crate) bytes: u64,
    /// Whether the log is complete.
    pub(crate) ended: bool,
}

/// Path of the rotated file.
fn older(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// Removes a log.
fn remove(path: &Path) {
    // Either file may be missing.
    let _ = fs::remove_file(path);
    let _ = fs::remove_file(older(path));
}

struct Writer {
    path: PathBuf,
    file: File,
    position: watch::Sender<LogPosition>,
}

impl Writer {
    fn open(path: &Path, position: watch::Sender<LogPosition>) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { path: path.to_owned(), file, position })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let mut position = *self.position.borrow();
        if position.bytes >= MAX_FILE_BYTES {
            fs::rename(&self.path, older(&self.path))?;
            self.file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            position = LogPosition { file: position.file + 1, bytes: 0, ended: false };
        }
        self.file.write_all(line)?;
        position.bytes += line.len() as u64;
        self.position.send_replace(position);
        Ok(())
    }
}

/// Writes the output of a container to its log until both streams are closed.
pub(crate) async fn pump(
    output: Output,
    path: PathBuf,
    position: watch::Sender<LogPosition>,
    api: Api,
) -> io::Result<()> {
    let writer = Arc::new(Mutex::new(Writer::open(&path, position)?));
    let (out, err) = tokio::join!(
        copy(output.stdout, "stdout", &writer, &api),
        copy(output.stderr, "stderr", &writer, &api),
    );
    let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    writer.position.send_modify(|position| position.ended = true);
    out.and(err)
}

async fn copy(
    from: impl AsyncRead + Unpin,
    stream: &str,
    writer: &Mutex<Writer>,
    api: &Api,
) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut part = Vec::new();
    loop {
        part.clear();
        let mut limited = (&mut from).take(MAX_LINE_BYTES as u64);
        if limited.read_until(b'\n', &mut part).await? == 0 {
            return Ok(());
        }
        let line = format_line(api.now(), stream, &part);
        writer.lock().unwrap_or_else(PoisonError::into_inner).write(&line)?;
    }
}

fn format_line(now: Timestamp, stream: &str, part: &[u8]) -> Vec<u8> {
    let (text, tag) = match part.strip_suffix(b"\n") {
        Some(text) => (text, "F"),
        None => (part, "P"),
    };
    let mut line = format!("{} {stream} {tag} ", format_time(now)).into_bytes();
    line.extend_from_slice(text);
    line.push(b'\n');
    line
}
