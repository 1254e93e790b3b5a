//! Evaluation of queries with a metrics snapshot, or with the metrics service of a cluster.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use fairway_insight::plan::MetricsSource;
use fairway_promql::Query;
use fairway_promql::evaluate::{self, evaluate};
use fairway_promql::snapshot::{Snapshot, SnapshotLimits};
use fairway_risk::{QueryFailure, QueryOutcome, QueryOutcomes, QueryResult};
use jiff::Timestamp;

use crate::errors::WithHint;
use crate::source::Source;

/// Results of queries.
#[derive(Default)]
pub(super) struct QueryResults {
    pub(super) outcomes: QueryOutcomes,
    /// Metrics snapshot that was used.
    pub(super) samples: Option<MetricsSource>,
}

/// Evaluates queries with a snapshot file, else with the metrics service of a live cluster. The
/// inner error is why that is not available.
pub(super) async fn evaluate_queries(
    file: Option<&Path>,
    source: &Source,
    queries: &BTreeSet<String>,
    now: Timestamp,
) -> anyhow::Result<Result<QueryResults, String>> {
    if let Some(path) = file {
        let saved = SavedMetrics::read(path, now)?;
        let outcomes = queries.iter().map(|query| (query.clone(), saved.outcome(query)));
        // Samples without a timestamp have the time of the read, in milliseconds.
        let own = Some(saved.at).filter(|at| at.as_millisecond() != now.as_millisecond());
        let samples = MetricsSource { file: path.display().to_string(), observation_time: own };
        return Ok(Ok(QueryResults { outcomes: outcomes.collect(), samples: Some(samples) }));
    }
    let outcomes = match source {
        Source::Live(cluster) if !queries.is_empty() => {
            cluster.outcomes(queries).await.map(Option::unwrap_or_default)
        }
        _ => Ok(QueryOutcomes::new()),
    };
    Ok(outcomes.map(|outcomes| QueryResults { outcomes, samples: None }))
}

/// Metrics snapshot and its time.
struct SavedMetrics {
    snapshot: Snapshot,
    at: Timestamp,
}

impl SavedMetrics {
    /// Reads a snapshot; samples without a timestamp are at `now`.
    fn read(path: &Path, now: Timestamp) -> anyhow::Result<Self> {
        let hint = || {
            WithHint::new(
                format!("cannot read metrics snapshot {}", path.display()),
                "use the Prometheus text format, or a JSON response of the Prometheus API",
            )
        };
        let limits = SnapshotLimits::default();
        let mut text = String::new();
        let file = File::open(path).with_context(hint)?;
        // One byte more than the limit, so that the parser refuses it.
        file.take(limits.bytes as u64 + 1).read_to_string(&mut text).with_context(hint)?;
        let snapshot = Snapshot::parse(&text, now, &limits).with_context(hint)?;
        // A snapshot with timestamps is evaluated at its own time.
        let at = snapshot.latest().unwrap_or(now);
        Ok(Self { snapshot, at })
    }

    /// Outcome of a query.
    fn outcome(&self, query: &str) -> QueryOutcome {
        let query = Query::parse(query).map_err(|error| QueryFailure::request_failed(&error))?;
        let value =
            evaluate(&query, &self.snapshot, self.at, &evaluate::EvaluationLimits::default());
        let answer =
            QueryResult::from(value.map_err(|error| QueryFailure::request_failed(&error))?);
        answer.outcome()
    }
}
