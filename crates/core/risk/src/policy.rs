//! Which queries may be sent to the cluster's metrics.
//!
//! Queries come from the update service, which may be in the wrong hands. They cannot write, but
//! they can cost the cluster's monitoring dearly.

use fairway_promql::{Problem, Query};

/// Which queries may be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPolicy {
    /// The metrics that may be read; a name that ends with `*` is the beginning of names. Without
    /// a list, all may be.
    pub metrics: Option<Vec<String>>,
}

/// Why a query is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is larger than any that makes sense.
    #[error("{0}")]
    TooLarge(String),
    /// It reads a metric that is not on the list.
    #[error("metric {0} is not on the list of allowed metrics")]
    Metric(String),
    /// It selects by labels alone, so nobody knows what it reads.
    #[error("a selector has no metric name, and a list of allowed metrics is set")]
    AnyMetric,
    /// It cannot be read, so nobody knows what it reads.
    #[error("cannot parse it, and a list of allowed metrics is set ({0})")]
    NotUnderstood(String),
}

impl QueryPolicy {
    /// Whether the query may be sent. One that merely makes no sense to us may: the cluster's
    /// Prometheus is the one to judge.
    pub fn check(&self, query: &str) -> Result<(), Refused> {
        match (Query::parse(query), &self.metrics) {
            (Err(error), _) if is_about_size(&error.problem) => {
                Err(Refused::TooLarge(error.problem.to_string()))
            }
            (_, None) => Ok(()),
            (Err(error), Some(_)) => Err(Refused::NotUnderstood(error.to_string())),
            (Ok(query), Some(allowed)) => reads_only(&query, allowed),
        }
    }
}

fn reads_only(query: &Query, allowed: &[String]) -> Result<(), Refused> {
    for selector in query.selectors() {
        let metric = selector.metric.as_deref().ok_or(Refused::AnyMetric)?;
        if !allowed.iter().any(|pattern| is_named(metric, pattern)) {
            return Err(Refused::Metric(metric.to_owned()));
        }
    }
    Ok(())
}

fn is_named(metric: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => metric.starts_with(beginning),
        None => metric == pattern,
    }
}

fn is_about_size(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::TooLong { .. }
            | Problem::TooDeep
            | Problem::TooManyOperators
            | Problem::TooManySelectors
            | Problem::TooManyMatchers
    )
}
