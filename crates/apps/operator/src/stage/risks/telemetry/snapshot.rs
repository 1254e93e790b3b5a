//! Metrics snapshot as a source of metrics, for clusters without Prometheus and for what-if queries.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use fairway_promql::evaluate::{self, EvaluationError, evaluate};
use fairway_promql::snapshot::{Snapshot, SnapshotError, SnapshotLimits};
use fairway_promql::{ParseError, Query};
use fairway_risk::QueryResult;
use jiff::Timestamp;

use crate::sync::lock;

/// Errors of a query.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueryError {
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

/// A metrics snapshot. It is read again when the file changes.
#[derive(Clone)]
pub(super) struct SnapshotFile {
    path: PathBuf,
    read: Arc<Mutex<Option<Read>>>,
}

/// The parsed file.
struct Read {
    /// Modification time and length, to detect changes.
    stamp: (Option<SystemTime>, u64),
    snapshot: Arc<Snapshot>,
}

impl SnapshotFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, read: Arc::default() }
    }

    /// Evaluates a query.
    pub(super) async fn query(&self, query: &str) -> Result<QueryResult, QueryError> {
        let this = self.clone();
        let query = Query::parse(query)?;
        // A large file and an expensive query take seconds and would block other tasks.
        tokio::task::spawn_blocking(move || this.answer(&query, fairway_clock::now())).await?
    }

    fn answer(&self, query: &Query, now: Timestamp) -> Result<QueryResult, QueryError> {
        let snapshot = self.snapshot(now)?;
        // Samples with timestamps are evaluated at their time.
        let at = snapshot.latest().unwrap_or(now);
        Ok(evaluate(query, &snapshot, at, &evaluate::EvaluationLimits::default())?.into())
    }

    fn snapshot(&self, now: Timestamp) -> Result<Arc<Snapshot>, QueryError> {
        let failed = |source| QueryError::Unreadable { path: self.path.clone(), source };
        let metadata = std::fs::metadata(&self.path).map_err(failed)?;
        let stamp = (metadata.modified().ok(), metadata.len());
        let mut read = lock(&self.read);
        if let Some(known) = read.as_ref().filter(|known| known.stamp == stamp) {
            return Ok(Arc::clone(&known.snapshot));
        }
        let limits = SnapshotLimits::default();
        let text = read_text(&self.path, limits.bytes).map_err(failed)?;
        let malformed = |source| QueryError::Malformed { path: self.path.clone(), source };
        let snapshot = Arc::new(Snapshot::parse(&text, now, &limits).map_err(malformed)?);
        *read = Some(Read { stamp, snapshot: Arc::clone(&snapshot) });
        Ok(snapshot)
    }
}

/// Reads at most one byte more than the limit; the parser refuses files above it.
fn read_text(path: &Path, limit: usize) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(limit as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluated(file: &SnapshotFile, query: &str) -> String {
        let query = Query::parse(query).unwrap();
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        match file.answer(&query, now) {
            Ok(QueryResult::Samples(samples)) => {
                samples.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => fairway_text::chain(&error),
        }
    }

    #[test]
    fn query_of_file_returns_samples() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples");
        let file = SnapshotFile::new(path.clone());
        let query = r#"max(cluster_proxy_enabled{type=~"https?"})"#;
        assert!(evaluated(&file, query).starts_with("cannot read "));

        std::fs::write(&path, "cluster_proxy_enabled{type=\"http\"} 1\n").unwrap();
        assert_eq!(evaluated(&file, query), "{} 1");
        assert_eq!(evaluated(&file, "missing"), "");
        assert_eq!(
            evaluated(&file, "cluster_proxy_enabled"),
            r#"{__name__="cluster_proxy_enabled", type="http"} 1"#
        );
        assert_eq!(evaluated(&file, "1"), "Other(Scalar)");

        std::fs::write(&path, "cluster_proxy_enabled{type=\"https\"} 0 1700000000000\n").unwrap();
        assert_eq!(evaluated(&file, query), "{} 0", "evaluated at the time of the sample");

        std::fs::write(&path, "cluster_proxy_enabled{").unwrap();
        let error = evaluated(&file, query).replace(&path.display().to_string(), "samples");
        assert!(error.starts_with("cannot parse samples: "), "{error}");
    }
}
