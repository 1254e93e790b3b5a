//! What came of queries, for people who want to know why. It is published when an answer is new.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_risk::Outcomes;
use fairway_risk::evaluations::{CONFIG_MAP, Evaluation, Evaluations, KEY};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::time::Instant;

/// How long answers are collected while more are to come: a round of them takes as long, and is
/// one write.
const COLLECT: Duration = Duration::from_mins(1);

/// What came of queries.
#[derive(Default)]
pub(super) struct Notes {
    known: BTreeMap<String, Evaluation>,
    /// Since when there is an answer that was not published.
    unpublished: Option<Instant>,
}

impl Notes {
    /// Takes in what came of a query. That a failure lasts is no news.
    pub(super) fn learn(&mut self, evaluation: Evaluation) {
        let before = self.known.get(&evaluation.query);
        if before.is_some_and(|before| evaluation.repeats(before)) {
            return;
        }
        self.known.insert(evaluation.query.clone(), evaluation);
        self.unpublished.get_or_insert_with(Instant::now);
    }

    /// Forgets what nobody keeps in mind any more. What was published goes with the next answer.
    pub(super) fn keep_only(&mut self, outcomes: &Outcomes) {
        self.known.retain(|query, _| outcomes.contains_key(query));
    }

    /// All of it, if something is new and no more is to come, or was waited for long enough.
    pub(super) fn news(&mut self, more_to_come: bool) -> Option<Evaluations> {
        let since = self.unpublished?;
        if more_to_come && since.elapsed() < COLLECT {
            return None;
        }
        self.unpublished = None;
        Some(Evaluations::of(&self.known))
    }

    /// When there is something to publish, whatever is to come.
    pub(super) fn due(&self) -> Option<Instant> {
        self.unpublished.map(|since| since + COLLECT)
    }
}

/// As it is published.
pub(super) fn record(evaluations: &Evaluations) -> serde_json::Result<BTreeMap<String, ConfigMap>> {
    let data = BTreeMap::from([(KEY.to_owned(), evaluations.to_json()?)]);
    let metadata = ObjectMeta { name: Some(CONFIG_MAP.to_owned()), ..ObjectMeta::default() };
    let record = ConfigMap { metadata, data: Some(data), ..ConfigMap::default() };
    Ok(BTreeMap::from([(CONFIG_MAP.to_owned(), record)]))
}

#[cfg(test)]
mod tests {
    use fairway_risk::{Answer, Failure};
    use jiff::Timestamp;

    use super::*;

    fn came(query: &str, came: Result<f64, &str>, second: i64) -> Evaluation {
        let came = came
            .map(|value| Answer::Samples(vec![value.into()]))
            .map_err(|why| Failure::asking(&why));
        Evaluation::new(query, &came, Timestamp::from_second(second).unwrap(), None)
    }

    fn queries(news: Option<Evaluations>) -> Option<Vec<String>> {
        let queries = |news: Evaluations| news.queries.into_iter().map(|one| one.query);
        news.map(|news| queries(news).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn a_round_of_answers_is_published_at_once() {
        let mut notes = Notes::default();
        assert_eq!((notes.news(false), notes.due()), (None, None), "nobody has asked");
        notes.learn(came("a", Ok(1.0), 0));
        assert_eq!(queries(notes.news(true)), None, "more is to come");
        notes.learn(came("b", Err("down"), 1));
        assert_eq!(queries(notes.news(false)), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((notes.news(false), notes.due()), (None, None), "it is published");
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_never_end_are_published_once_a_minute() {
        let mut notes = Notes::default();
        notes.learn(came("a", Ok(1.0), 0));
        tokio::time::sleep_until(notes.due().unwrap()).await;
        assert!(notes.news(true).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_that_lasts_is_published_once() {
        let mut notes = Notes::default();
        notes.learn(came("a", Err("down"), 0));
        assert!(notes.news(false).is_some());
        notes.learn(came("a", Err("down"), 10));
        assert_eq!(notes.news(false), None);
        notes.learn(came("a", Err("slow"), 20));
        assert!(notes.news(false).is_some(), "it fails for another reason");
        notes.learn(came("a", Ok(0.0), 30));
        assert!(notes.news(false).is_some());
        notes.learn(came("a", Ok(0.0), 3630));
        assert!(notes.news(false).is_some(), "the answer is younger than the one before");
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_asks_any_more_goes_with_the_next_answer() {
        let mut notes = Notes::default();
        notes.learn(came("a", Ok(1.0), 0));
        notes.learn(came("b", Ok(1.0), 0));
        assert!(notes.news(false).is_some());
        notes.keep_only(&[("b".to_owned(), Ok(true))].into());
        assert_eq!(notes.news(false), None, "that is no answer");
        notes.learn(came("b", Ok(0.0), 3600));
        assert_eq!(queries(notes.news(false)), Some(vec!["b".to_owned()]));
    }
}
