//! Log of query results, published in a ConfigMap when a result changes.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_risk::QueryOutcomes;
use fairway_risk::evaluations::{CONFIG_MAP, Evaluation, Evaluations, KEY};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::time::Instant;

/// Maximum time for which results are collected while more are expected, to write them at once.
const MAX_COLLECT_INTERVAL: Duration = Duration::from_mins(1);

/// The latest result of each query.
#[derive(Default)]
pub(super) struct EvaluationLog {
    known: BTreeMap<String, Evaluation>,
    /// Time of the first unpublished result.
    unpublished: Option<Instant>,
}

impl EvaluationLog {
    /// Records a result. A repeated failure does not count as a change.
    pub(super) fn record(&mut self, evaluation: Evaluation) {
        let before = self.known.get(&evaluation.query);
        if before.is_some_and(|before| evaluation.repeats(before)) {
            return;
        }
        self.known.insert(evaluation.query.clone(), evaluation);
        self.unpublished.get_or_insert_with(Instant::now);
    }

    /// Removes queries that are no longer needed. The next publication omits them.
    pub(super) fn retain(&mut self, outcomes: &QueryOutcomes) {
        self.known.retain(|query, _| outcomes.contains_key(query));
    }

    /// All results, if one changed and no more are expected or the collect interval is over.
    pub(super) fn take_unpublished(&mut self, more_to_come: bool) -> Option<Evaluations> {
        let since = self.unpublished?;
        if more_to_come && since.elapsed() < MAX_COLLECT_INTERVAL {
            return None;
        }
        self.unpublished = None;
        Some(Evaluations::new(&self.known))
    }

    /// Latest time of the next publication.
    pub(super) fn due(&self) -> Option<Instant> {
        self.unpublished.map(|since| since + MAX_COLLECT_INTERVAL)
    }
}

/// The ConfigMap with the results.
pub(super) fn record(evaluations: &Evaluations) -> serde_json::Result<BTreeMap<String, ConfigMap>> {
    let data = BTreeMap::from([(KEY.to_owned(), evaluations.to_json()?)]);
    let metadata = ObjectMeta { name: Some(CONFIG_MAP.to_owned()), ..ObjectMeta::default() };
    let record = ConfigMap { metadata, data: Some(data), ..ConfigMap::default() };
    Ok(BTreeMap::from([(CONFIG_MAP.to_owned(), record)]))
}

#[cfg(test)]
mod tests {
    use fairway_risk::{QueryFailure, QueryResult};
    use jiff::Timestamp;

    use super::*;

    fn result(query: &str, result: Result<f64, &str>, second: i64) -> Evaluation {
        let result = result
            .map(|value| QueryResult::Samples(vec![value.into()]))
            .map_err(|why| QueryFailure::request_failed(&why));
        Evaluation::new(query, &result, Timestamp::from_second(second).unwrap(), None)
    }

    fn queries(change: Option<Evaluations>) -> Option<Vec<String>> {
        let queries = |change: Evaluations| change.queries.into_iter().map(|one| one.query);
        change.map(|change| queries(change).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn take_unpublished_collects_expected_results() {
        let mut log = EvaluationLog::default();
        assert_eq!((log.take_unpublished(false), log.due()), (None, None), "no result");
        log.record(result("a", Ok(1.0), 0));
        assert_eq!(queries(log.take_unpublished(true)), None, "more results are expected");
        log.record(result("b", Err("down"), 1));
        assert_eq!(
            queries(log.take_unpublished(false)),
            Some(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!((log.take_unpublished(false), log.due()), (None, None), "published");
    }

    #[tokio::test(start_paused = true)]
    async fn take_unpublished_waits_one_minute_at_most() {
        let mut log = EvaluationLog::default();
        log.record(result("a", Ok(1.0), 0));
        tokio::time::sleep_until(log.due().unwrap()).await;
        assert!(log.take_unpublished(true).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_failure_is_published_once() {
        let mut log = EvaluationLog::default();
        log.record(result("a", Err("down"), 0));
        assert!(log.take_unpublished(false).is_some());
        log.record(result("a", Err("down"), 10));
        assert_eq!(log.take_unpublished(false), None);
        log.record(result("a", Err("slow"), 20));
        assert!(log.take_unpublished(false).is_some(), "another error");
        log.record(result("a", Ok(0.0), 30));
        assert!(log.take_unpublished(false).is_some());
        log.record(result("a", Ok(0.0), 3630));
        assert!(log.take_unpublished(false).is_some(), "a newer result");
    }

    #[tokio::test(start_paused = true)]
    async fn retain_drops_queries_with_the_next_result() {
        let mut log = EvaluationLog::default();
        log.record(result("a", Ok(1.0), 0));
        log.record(result("b", Ok(1.0), 0));
        assert!(log.take_unpublished(false).is_some());
        log.retain(&[("b".to_owned(), Ok(true))].into());
        assert_eq!(log.take_unpublished(false), None, "no new result");
        log.record(result("b", Ok(0.0), 3600));
        assert_eq!(queries(log.take_unpublished(false)), Some(vec!["b".to_owned()]));
    }
}
