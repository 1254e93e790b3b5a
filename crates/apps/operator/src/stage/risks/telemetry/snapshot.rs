//! A file with samples, in place of a server: for clusters without metrics, and to ask what would
//! be if.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use fairway_promql::evaluate::{self, EvaluationError, evaluate};
use fairway_promql::snapshot::{Limits, Snapshot, SnapshotError};
use fairway_promql::{ParseError, Query};
use fairway_risk::Answer;
use jiff::Timestamp;

/// Why the file does not answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("cannot parse {}", path.display())]
    Malformed { path: PathBuf, source: SnapshotError },
    #[error("cannot parse the query")]
    Query(#[from] ParseError),
    #[error("cannot evaluate the query")]
    Evaluation(#[from] EvaluationError),
    #[error("the evaluation task failed")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// A file with samples. It is read again when it changes.
#[derive(Clone)]
pub(super) struct SnapshotFile {
    path: PathBuf,
    read: Arc<Mutex<Option<Read>>>,
}

/// What was read.
struct Read {
    /// By what a change is noticed: when the file was written, and how long it is.
    stamp: (Option<SystemTime>, u64),
    snapshot: Arc<Snapshot>,
}

impl SnapshotFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, read: Arc::default() }
    }

    /// The answer to a query.
    pub(super) async fn query(&self, query: &str) -> Result<Answer, AskError> {
        let this = self.clone();
        let query = Query::parse(query)?;
        // A large file and a costly query take seconds, which others need not wait for.
        tokio::task::spawn_blocking(move || this.answer(&query, fairway_clock::now())).await?
    }

    fn answer(&self, query: &Query, now: Timestamp) -> Result<Answer, AskError> {
        let snapshot = self.snapshot(now)?;
        // What was saved with its times is asked as of then.
        let at = snapshot.latest().unwrap_or(now);
        Ok(evaluate(query, &snapshot, at, &evaluate::Limits::default())?.into())
    }

    fn snapshot(&self, now: Timestamp) -> Result<Arc<Snapshot>, AskError> {
        let failed = |source| AskError::Unreadable { path: self.path.clone(), source };
        let metadata = std::fs::metadata(&self.path).map_err(failed)?;
        let stamp = (metadata.modified().ok(), metadata.len());
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.as_ref().filter(|known| known.stamp == stamp) {
            return Ok(Arc::clone(&known.snapshot));
        }
        let limits = Limits::default();
        let text = read_text(&self.path, limits.bytes).map_err(failed)?;
        let malformed = |source| AskError::Malformed { path: self.path.clone(), source };
        let snapshot = Arc::new(Snapshot::parse(&text, now, &limits).map_err(malformed)?);
        *read = Some(Read { stamp, snapshot: Arc::clone(&snapshot) });
        Ok(snapshot)
    }
}

/// The text of a file, up to a byte more than is allowed: whoever parses it refuses that.
fn read_text(path: &Path, most: usize) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(most as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(file: &SnapshotFile, query: &str) -> String {
        let query = Query::parse(query).unwrap();
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        match file.answer(&query, now) {
            Ok(Answer::Samples(samples)) => {
                samples.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => fairway_text::chain(&error),
        }
    }

    #[test]
    fn a_file_answers_as_prometheus_would() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples");
        let file = SnapshotFile::new(path.clone());
        let query = r#"max(cluster_proxy_enabled{type=~"https?"})"#;
        assert!(told(&file, query).starts_with("cannot read "));

        std::fs::write(&path, "cluster_proxy_enabled{type=\"http\"} 1\n").unwrap();
        assert_eq!(told(&file, query), "{} 1");
        assert_eq!(told(&file, "missing"), "");
        assert_eq!(
            told(&file, "cluster_proxy_enabled"),
            r#"{__name__="cluster_proxy_enabled", type="http"} 1"#
        );
        assert_eq!(told(&file, "1"), "Other(Scalar)");

        std::fs::write(&path, "cluster_proxy_enabled{type=\"https\"} 0 1700000000000\n").unwrap();
        assert_eq!(told(&file, query), "{} 0", "it is asked as of its own time");

        std::fs::write(&path, "cluster_proxy_enabled{").unwrap();
        let told = told(&file, query).replace(&path.display().to_string(), "samples");
        assert!(told.starts_with("cannot parse samples: "), "{told}");
    }
}
