//! PromQL queries at the rate of the scheduler, and alerts once a minute.

use std::sync::Arc;
use std::time::Duration;

use fairway_risk::evaluations::{Evaluation, Evaluations};
use fairway_risk::schedule::{MonotonicTime, NextAction, Scheduler, SchedulerSettings};
use fairway_risk::{QueryFailure, QueryOutcomes, QueryResult, ReportedRisk, sources};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use tokio::time::Instant;

use super::evaluation_log::EvaluationLog;
use super::telemetry::Telemetry;
use crate::metrics;

/// Maximum concurrent queries: a slow query must not delay the others, and the monitoring stack has
/// other users.
const MAX_IN_FLIGHT: usize = 8;

/// Poll interval of alerts: alerting rules are evaluated about as often.
const ALERTS_POLL_INTERVAL: Duration = Duration::from_mins(1);

/// Sends queries and keeps their results.
pub(super) struct QueryRunner {
    telemetry: Arc<Telemetry>,
    scheduler: Scheduler,
    log: EvaluationLog,
    began: Instant,
    in_flight: FuturesUnordered<BoxFuture<'static, Response>>,
    queries_in_flight: usize,
    due: NextAction,
    alerts: Alerts,
    alerts_due: Option<Instant>,
    metrics: metrics::Queries,
}

/// State of the alerts.
#[derive(Debug, PartialEq)]
pub(super) enum Alerts {
    /// The first request has no response yet.
    Pending,
    /// No request ever had a valid response.
    Unknown,
    /// Concerns of the firing alerts.
    Known(Vec<ReportedRisk>),
}

impl Alerts {
    /// Updates the alerts; returns whether they changed. Annotations have numbers that change every
    /// minute, so the same alerts keep their texts.
    fn update(&mut self, latest: Vec<ReportedRisk>) -> bool {
        let same = |(one, other): (&ReportedRisk, &ReportedRisk)| {
            let since =
                |concern: &ReportedRisk| concern.risk.claim.as_ref().map(|claim| claim.since);
            one.risk.name == other.risk.name && since(one) == since(other)
        };
        match self {
            Self::Known(known)
                if known.len() == latest.len() && known.iter().zip(&latest).all(same) =>
            {
                false
            }
            _ => {
                *self = Self::Known(latest);
                true
            }
        }
    }

    /// Records a failed request; returns whether the state changed. Known alerts are kept.
    fn fail(&mut self, error: &str) -> bool {
        if *self != Self::Pending {
            tracing::debug!(error, "cannot read alerts; using previous alerts");
            return false;
        }
        tracing::warn!(error, "cannot read alerts; using alerts from the status");
        *self = Self::Unknown;
        true
    }
}

enum Response {
    Query { query: String, result: Result<QueryResult, QueryFailure> },
    Alerts(Option<Result<Vec<u8>, String>>),
}

impl QueryRunner {
    pub(super) fn new(
        telemetry: Telemetry,
        pace: SchedulerSettings,
        metrics: metrics::Queries,
    ) -> Self {
        let now = Instant::now();
        Self {
            telemetry: Arc::new(telemetry),
            scheduler: Scheduler::new(pace),
            log: EvaluationLog::default(),
            began: now,
            in_flight: FuturesUnordered::new(),
            queries_in_flight: 0,
            due: NextAction::Idle,
            alerts: Alerts::Pending,
            alerts_due: Some(now),
            metrics,
        }
    }

    /// The latest result of every query, and the time of queries that wait long.
    pub(super) fn outcomes(&self, now: Timestamp) -> QueryOutcomes {
        self.scheduler.outcomes_at(self.now(), now)
    }

    /// The latest alerts.
    pub(super) fn alerts(&self) -> &Alerts {
        &self.alerts
    }

    /// Replaces the set of needed queries.
    pub(super) fn set_queries(&mut self, queries: &[String]) {
        self.scheduler.want(queries, self.now());
        self.log.retain(self.scheduler.outcomes());
    }

    /// All results, once there is a change to publish. Results are collected while the next one is
    /// expected within `horizon`.
    pub(super) fn take_unpublished(&mut self, horizon: Duration) -> Option<Evaluations> {
        let more_to_come = !self.is_idle_for(horizon);
        self.log.take_unpublished(more_to_come)
    }

    /// Latest time of the next publication.
    pub(super) fn publication_due(&self) -> Option<Instant> {
        self.log.due()
    }

    /// Sends all requests that are due.
    pub(super) fn send_due(&mut self) {
        if self.alerts_due.is_some_and(|due| due <= Instant::now()) {
            self.alerts_due = None;
            let telemetry = Arc::clone(&self.telemetry);
            let alerts = async move { Response::Alerts(telemetry.alerts().await) };
            self.in_flight.push(Box::pin(alerts));
        }
        while self.queries_in_flight < MAX_IN_FLIGHT {
            self.due = self.scheduler.next_due(self.now());
            let NextAction::Query(query) = &self.due else { return };
            self.queries_in_flight += 1;
            self.in_flight.push(Box::pin(send(Arc::clone(&self.telemetry), query.clone())));
        }
    }

    /// Whether no result is expected within `horizon`.
    pub(super) fn is_idle_for(&self, horizon: Duration) -> bool {
        let soon = match &self.due {
            NextAction::Query(_) => true,
            NextAction::SleepUntil(moment) => moment.0 < self.now().0 + horizon,
            NextAction::Idle => false,
        };
        self.queries_in_flight == 0 && !soon
    }

    /// Time of the next request.
    pub(super) fn due(&self) -> Option<Instant> {
        let query = match &self.due {
            NextAction::SleepUntil(MonotonicTime(since)) => Some(self.began + *since),
            // A free slot has sent it already; without one, a result comes first.
            NextAction::Query(_) | NextAction::Idle => None,
        };
        [query, self.alerts_due].into_iter().flatten().min()
    }

    /// Waits for a result and processes it with all others that are ready; returns whether the
    /// alerts changed. Requests stay in `in_flight` when the future is dropped.
    pub(super) async fn next_result(&mut self) -> bool {
        let Some(first) = self.in_flight.next().await else {
            return std::future::pending().await;
        };
        let mut alerts_changed = self.process(first);
        while let Some(Some(next)) = futures::FutureExt::now_or_never(self.in_flight.next()) {
            alerts_changed |= self.process(next);
        }
        alerts_changed
    }

    fn process(&mut self, answered: Response) -> bool {
        match answered {
            Response::Query { query, result } => {
                self.queries_in_flight -= 1;
                self.record_result(&query, &result);
                false
            }
            Response::Alerts(None) => {
                self.alerts = Alerts::Known(Vec::new());
                true
            }
            Response::Alerts(Some(response)) => {
                self.alerts_due = Some(Instant::now() + ALERTS_POLL_INTERVAL);
                let parse =
                    |alerts: Vec<u8>| sources::alerts(&alerts).map_err(|error| error.to_string());
                match response.and_then(parse) {
                    Ok(alerts) => self.alerts.update(alerts),
                    Err(error) => self.alerts.fail(&error),
                }
            }
        }
    }

    fn record_result(&mut self, query: &str, result: &Result<QueryResult, QueryFailure>) {
        let (now, time) = (self.now(), fairway_clock::now());
        let outcome = result.as_ref().map_err(Clone::clone).and_then(QueryResult::outcome);
        match &outcome {
            Ok(_) => self.metrics.answered(time),
            Err(failure) => {
                self.metrics.failed();
                tracing::info!(query, error = %failure, "risk query failed");
            }
        }
        self.scheduler.answered(query, outcome, now);
        let due = self.scheduler.due(query);
        let next = due.and_then(|due| time.saturating_add(due.0.saturating_sub(now.0)).ok());
        self.log.record(Evaluation::new(query, result, time, next));
    }

    fn now(&self) -> MonotonicTime {
        MonotonicTime(self.began.elapsed())
    }
}

async fn send(telemetry: Arc<Telemetry>, query: String) -> Response {
    let result = telemetry.query(&query).await;
    Response::Query { query, result }
}

#[cfg(test)]
mod tests {
    use fairway_risk::{AffectedUpdates, Risk, RiskAssessment, RiskSource};

    use super::*;

    fn alert(name: &str, message: &str, since: i64) -> ReportedRisk {
        let since = Timestamp::from_second(since).ok();
        let claim = RiskAssessment { since, ..RiskAssessment::new(true, "Alert:firing", message) };
        let risk = Risk::always(name, message, "https://example.com").with_assessment(claim);
        ReportedRisk { risk, source: RiskSource::Alert, targets: AffectedUpdates::All }
    }

    #[test]
    fn alerts_learn_ignores_changed_numbers() {
        let mut alerts = Alerts::Pending;
        assert!(alerts.update(vec![alert("DiskFull", "2.9 % free", 10)]));
        assert!(!alerts.update(vec![alert("DiskFull", "2.8 % free", 10)]));
        assert_eq!(alerts, Alerts::Known(vec![alert("DiskFull", "2.9 % free", 10)]));
        assert!(alerts.update(vec![alert("DiskFull", "1 % free", 20)]), "it fires anew");
        assert!(alerts.update(vec![alert("DiskSlow", "slow", 20)]));
        assert!(alerts.update(Vec::new()));
    }

    #[test]
    fn alerts_fail_keeps_known_alerts() {
        let mut alerts = Alerts::Pending;
        assert!(alerts.fail("down"), "the stage stops waiting");
        assert!(!alerts.fail("down"));
        assert_eq!(alerts, Alerts::Unknown);
        alerts.update(vec![alert("DiskFull", "full", 10)]);
        assert!(!alerts.fail("down"));
        assert_eq!(alerts, Alerts::Known(vec![alert("DiskFull", "full", 10)]));
    }
}
