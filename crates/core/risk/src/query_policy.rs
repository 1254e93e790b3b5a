//! Policy for queries to the cluster's Prometheus.
//!
//! Queries come from the update service, which may be compromised. They cannot write, but expensive
//! ones can overload monitoring.

use fairway_promql::{ParseProblem, Query};

/// Allowed queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryPolicy {
    /// Allowed metrics; a trailing `*` matches a prefix. `None` allows all.
    pub metrics: Option<Vec<String>>,
}

/// Reason why a query is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryRefusal {
    /// The query exceeds a parser limit.
    #[error("{0}")]
    TooLarge(String),
    /// The metric is not allowed.
    #[error("metric {0} is not on the list of allowed metrics")]
    Metric(String),
    /// A selector has no metric name, so the metrics that it reads are unknown.
    #[error("a selector has no metric name, which the list of allowed metrics requires")]
    AnyMetric,
    /// The query cannot be parsed, so the metrics that it reads are unknown.
    #[error("cannot parse it to check the list of allowed metrics: {0}")]
    NotUnderstood(String),
}

impl QueryPolicy {
    /// Whether a query is allowed. Without a list of metrics, invalid queries are allowed: the
    /// cluster's Prometheus may support newer syntax.
    pub fn check(&self, query: &str) -> Result<(), QueryRefusal> {
        match (Query::parse(query), &self.metrics) {
            (Err(error), _) if is_about_size(&error.problem) => {
                Err(QueryRefusal::TooLarge(error.problem.to_string()))
            }
            (_, None) => Ok(()),
            (Err(error), Some(_)) => Err(QueryRefusal::NotUnderstood(error.to_string())),
            (Ok(query), Some(allowed)) => reads_only(&query, allowed),
        }
    }
}

fn reads_only(query: &Query, allowed: &[String]) -> Result<(), QueryRefusal> {
    for selector in query.selectors() {
        let metric = selector.metric.as_deref().ok_or(QueryRefusal::AnyMetric)?;
        if !allowed.iter().any(|pattern| is_named(metric, pattern)) {
            return Err(QueryRefusal::Metric(metric.to_owned()));
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

fn is_about_size(problem: &ParseProblem) -> bool {
    matches!(
        problem,
        ParseProblem::TooLong(_)
            | ParseProblem::TooDeep
            | ParseProblem::TooManyOperators
            | ParseProblem::TooManySelectors
            | ParseProblem::TooManyMatchers
    )
}
