//! A file with samples that answers queries.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use fairway_promql::Query;
use fairway_promql::evaluate::{self, Value, evaluate};
use fairway_promql::snapshot::{Limits, Snapshot};
use fairway_risk::{Answer, Failure, Outcome, ResultType};
use jiff::Timestamp;

use crate::errors::WithHint;

/// Samples, and the time that they are about.
pub(super) struct Metrics {
    snapshot: Snapshot,
    at: Timestamp,
}

impl Metrics {
    /// Reads them; those without a time are of `now`.
    pub(super) fn read(path: &Path, now: Timestamp) -> anyhow::Result<Self> {
        let hint = || WithHint {
            message: format!("cannot read the samples in {}", path.display()),
            hint: "they are in the text format of Prometheus, or an answer of its API in JSON"
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
    pub(super) fn outcome(&self, query: &str) -> Outcome {
        let query = Query::parse(query).map_err(|error| Failure::asking(&error))?;
        let value = evaluate(&query, &self.snapshot, self.at, &evaluate::Limits::default());
        let answer = match value.map_err(|error| Failure::asking(&error))? {
            Value::Vector(vector) => {
                Answer::Samples(vector.iter().map(|it| it.value.into()).collect())
            }
            Value::Scalar(_) => Answer::Other(ResultType::Scalar),
            Value::Range(_) => Answer::Other(ResultType::Range),
            Value::Text(_) => Answer::Other(ResultType::Text),
        };
        answer.outcome()
    }
}
