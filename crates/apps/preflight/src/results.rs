//! Result files of a run, written atomically.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_findings::Document;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Name of the results file.
pub const RESULT_FILE: &str = "result.json";

/// Minimum interval between writes.
const MIN_WRITE_INTERVAL: Duration = Duration::from_millis(300);

/// Interval at which unchanged results are written, as a heartbeat for the operator.
const HEARTBEAT_INTERVAL: Duration = Duration::from_mins(1);

/// Replaces a file atomically.
pub fn write(directory: &Path, name: &str, document: &impl Serialize) -> io::Result<()> {
    let beside = directory.join(format!(".{name}.new"));
    let mut file = File::create(&beside)?;
    file.write_all(&serde_json::to_vec(document)?)?;
    file.sync_all()?;
    fs::rename(&beside, directory.join(name))?;
    // Syncs the directory, so that the rename survives a crash.
    File::open(directory)?.sync_all()
}

/// Writes results until the sender is gone.
pub(crate) async fn keep(directory: PathBuf, mut known: watch::Receiver<Document>) {
    loop {
        let document =
            Document { updated: Some(fairway_clock::now()), ..known.borrow_and_update().clone() };
        if let Err(error) = write_blocking(directory.clone(), document).await {
            tracing::error!(%error, directory = %directory.display(), "cannot write results");
        }
        // Batches changes.
        tokio::time::sleep_until(Instant::now() + MIN_WRITE_INTERVAL).await;
        if let Ok(Err(_)) = timeout(HEARTBEAT_INTERVAL, known.changed()).await {
            return;
        }
    }
}

/// Writes in a blocking task, because disks may be slow.
async fn write_blocking(directory: PathBuf, document: Document) -> io::Result<()> {
    let written = tokio::task::spawn_blocking(move || write(&directory, RESULT_FILE, &document));
    written.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use fairway_findings::ExecutionStatus;
    use fairway_testkit::wait;

    use super::*;

    fn read(directory: &Path) -> Option<Document> {
        serde_json::from_slice(&fs::read(directory.join(RESULT_FILE)).ok()?).ok()
    }

    #[test]
    fn write_replaces_file_without_leftovers() {
        let directory = tempfile::tempdir().unwrap();
        for message in ["a longer text than the next one", "text"] {
            let document = Document { message: message.to_owned(), ..Document::default() };
            write(directory.path(), RESULT_FILE, &document).unwrap();
            assert_eq!(read(directory.path()).unwrap().message, message);
        }
        let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), [RESULT_FILE]);
        assert!(write(Path::new("/nowhere"), RESULT_FILE, &()).is_err());
    }

    #[tokio::test]
    async fn keep_writes_changes() {
        let directory = tempfile::tempdir().unwrap();
        let (sender, receiver) = watch::channel(Document::default());
        let path = directory.path().to_owned();
        let writer = tokio::spawn(keep(path, receiver));
        sender.send_modify(|known| known.execution_status = ExecutionStatus::Completed);
        let done = async || {
            let known = read(directory.path());
            Ok(known.filter(|known| known.execution_status == ExecutionStatus::Completed))
        };
        let known = wait::until("the file to follow", done).await.unwrap();
        assert!(known.updated.is_some());
        drop(sender);
        writer.await.unwrap();
    }
}
