//! The file of a log: lines as container runtimes write them for a kubelet.
//!
//! `2026-01-02T03:04:05.000000000Z stdout F text`, with `P` instead of `F` where a line goes on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::sync::watch;

use super::written;
use crate::api::Api;
use crate::node::runtime::Output;

/// As much as a kubelet keeps before it begins another file.
pub(super) const LARGEST_FILE: u64 = 10 << 20;
/// Longer lines are written in parts.
const LONGEST_PART: usize = 16 << 10;

/// How far a log has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// How many files were begun before the current one.
    pub(crate) file: u64,
    /// How much was written into the current one.
    pub(crate) bytes: u64,
    /// Whether nothing will come any more.
    pub(crate) ended: bool,
}

/// The older of a log's two files.
pub(super) fn older(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// Removes a log.
pub(super) fn remove(path: &Path) {
    // Either may be missing.
    let _ = fs::remove_file(path);
    let _ = fs::remove_file(older(path));
}

struct Writer {
    path: PathBuf,
    file: File,
    progress: watch::Sender<Progress>,
}

impl Writer {
    fn open(path: &Path, progress: watch::Sender<Progress>) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { path: path.to_owned(), file, progress })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let mut progress = *self.progress.borrow();
        if progress.bytes >= LARGEST_FILE {
            fs::rename(&self.path, older(&self.path))?;
            self.file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            progress = Progress { file: progress.file + 1, bytes: 0, ended: false };
        }
        self.file.write_all(line)?;
        progress.bytes += line.len() as u64;
        self.progress.send_replace(progress);
        Ok(())
    }
}

/// Writes down what a container writes until it closes both its outputs.
pub(crate) async fn pump(
    output: Output,
    path: PathBuf,
    progress: watch::Sender<Progress>,
    api: Api,
) -> io::Result<()> {
    let writer = Arc::new(Mutex::new(Writer::open(&path, progress)?));
    let (out, err) = tokio::join!(
        copy(output.stdout, "stdout", &writer, &api),
        copy(output.stderr, "stderr", &writer, &api),
    );
    let writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
    writer.progress.send_modify(|progress| progress.ended = true);
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
        let mut limited = (&mut from).take(LONGEST_PART as u64);
        if limited.read_until(b'\n', &mut part).await? == 0 {
            return Ok(());
        }
        let line = format_line(api.now(), stream, &part);
        writer.lock().unwrap_or_else(PoisonError::into_inner).write(&line)?;
    }
}

fn format_line(now: jiff::Timestamp, stream: &str, part: &[u8]) -> Vec<u8> {
    let (text, tag) = match part.strip_suffix(b"\n") {
        Some(text) => (text, "F"),
        None => (part, "P"),
    };
    let mut line = format!("{} {stream} {tag} ", written(now)).into_bytes();
    line.extend_from_slice(text);
    line.push(b'\n');
    line
}
