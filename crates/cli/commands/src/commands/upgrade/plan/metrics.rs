//! Who answers queries: a file with samples, or the monitoring of a cluster.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use fairway_insight::plan::MetricsSource;
use fairway_promql::Query;
use fairway_promql::evaluate::{self, evaluate};
use fairway_promql::snapshot::{Limits, Snapshot};
use fairway_risk::{Answer, Failure, Outcome, Outcomes};
use jiff::Timestamp;

use crate::errors::WithHint;
use crate::source::Source;

/// What came of queries.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) outcomes: Outcomes,
    /// The file that they are from.
    pub(super) samples: Option<MetricsSource>,
}

/// Asks queries of a file with samples where there is one, else of the cluster if it is live and
/// has a monitoring; an inner error is why that does not answer.
pub(super) async fn ask(
    file: Option<&Path>,
    source: &Source,
    queries: &BTreeSet<String>,
    now: Timestamp,
) -> anyhow::Result<Result<Answers, String>> {
    if let Some(path) = file {
        let saved = Saved::read(path, now)?;
        let asked = queries.iter().map(|query| (query.clone(), saved.outcome(query)));
        // Samples without a time are of the millisecond in which they are read.
        let own = Some(saved.at).filter(|at| at.as_millisecond() != now.as_millisecond());
        let samples = MetricsSource { file: path.display().to_string(), observation_time: own };
        return Ok(Ok(Answers { outcomes: asked.collect(), samples: Some(samples) }));
    }
    let outcomes = match source {
        Source::Live(cluster) if !queries.is_empty() => {
            cluster.outcomes(queries).await.map(Option::unwrap_or_default)
        }
        _ => Ok(Outcomes::new()),
    };
    Ok(outcomes.map(|outcomes| Answers { outcomes, samples: None }))
}

/// Samples, and the time that they are about.
struct Saved {
    snapshot: Snapshot,
    at: Timestamp,
}

impl Saved {
    /// Reads them; those without a time are of `now`.
    fn read(path: &Path, now: Timestamp) -> anyhow::Result<Self> {
        let hint = || WithHint {
            message: format!("cannot read metrics snapshot {}", path.display()),
            hint: "use the Prometheus text format, or a JSON response of the Prometheus API"
                .to_owned(),
        };
        let limits = Limits::default();
        let mut text = String::new();
        let file = File::open(path).with_context(hint)?;
        // A byte more than is allowed, so that whoever parses it refuses that.
        file.take(limits.bytes as u64 + 1).read_to_string(&mut text).with_context(hint)?;
        let snapshot = Snapshot::parse(&text, now, &limits).with_context(hint)?;
        // What was saved with its times is asked as of then.
        let at = snapshot.latest().unwrap_or(now);
        Ok(Self { snapshot, at })
    }

    /// What a query yields over them.
    fn outcome(&self, query: &str) -> Outcome {
        let query = Query::parse(query).map_err(|error| Failure::asking(&error))?;
        let value = evaluate(&query, &self.snapshot, self.at, &evaluate::Limits::default());
        let answer = Answer::from(value.map_err(|error| Failure::asking(&error))?);
        answer.outcome()
    }
}
