//! The files of a run: whoever reads one sees all of it, or the one before it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_findings::Document;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// The file with what was found.
pub const RESULT: &str = "result.json";

/// Nobody sees results change more often than that.
const BETWEEN_WRITES: Duration = Duration::from_millis(300);

/// As often as somebody who waits for a sign of life looks for one.
const HEARTBEAT: Duration = Duration::from_mins(1);

/// Replaces a file of a directory by a document, as one step.
pub fn write(directory: &Path, name: &str, document: &impl Serialize) -> io::Result<()> {
    let beside = directory.join(format!(".{name}.new"));
    let mut file = File::create(&beside)?;
    file.write_all(&serde_json::to_vec(document)?)?;
    file.sync_all()?;
    fs::rename(&beside, directory.join(name))?;
    // The name has to outlast a crash as well as the content.
    File::open(directory)?.sync_all()
}

/// Keeps the file with results up to date until there will be no more.
pub(crate) async fn keep(directory: PathBuf, mut known: watch::Receiver<Document>) {
    loop {
        let document =
            Document { updated: Some(fairway_clock::now()), ..known.borrow_and_update().clone() };
        if let Err(error) = write_elsewhere(directory.clone(), document).await {
            tracing::error!(%error, directory = %directory.display(), "cannot write results");
        }
        // Changes that come together are written together.
        tokio::time::sleep_until(Instant::now() + BETWEEN_WRITES).await;
        if let Ok(Err(_)) = timeout(HEARTBEAT, known.changed()).await {
            return;
        }
    }
}

/// Disks may be slow, and checks should not wait for them.
async fn write_elsewhere(directory: PathBuf, document: Document) -> io::Result<()> {
    let written = tokio::task::spawn_blocking(move || write(&directory, RESULT, &document));
    written.await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use fairway_findings::ExecutionStatus;
    use fairway_testkit::wait;

    use super::*;

    fn read(directory: &Path) -> Option<Document> {
        serde_json::from_slice(&fs::read(directory.join(RESULT)).ok()?).ok()
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let directory = tempfile::tempdir().unwrap();
        for message in ["a longer text than the next one", "text"] {
            let document = Document { message: message.to_owned(), ..Document::default() };
            write(directory.path(), RESULT, &document).unwrap();
            assert_eq!(read(directory.path()).unwrap().message, message);
        }
        let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), [RESULT]);
        assert!(write(Path::new("/nowhere"), RESULT, &()).is_err());
    }

    #[tokio::test]
    async fn the_file_follows_what_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let (sender, receiver) = watch::channel(Document::default());
        let path = directory.path().to_owned();
        let keeping = tokio::spawn(keep(path, receiver));
        sender.send_modify(|known| known.execution_status = ExecutionStatus::Completed);
        let done = async || {
            let known = read(directory.path());
            Ok(known.filter(|known| known.execution_status == ExecutionStatus::Completed))
        };
        let known = wait::until("the file to follow", done).await.unwrap();
        assert!(known.updated.is_some());
        drop(sender);
        keeping.await.unwrap();
    }
}
