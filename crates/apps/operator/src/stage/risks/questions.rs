//! Asking the cluster's metrics: queries at the scheduler's pace, alerts once a minute.

use std::sync::Arc;
use std::time::Duration;

use fairway_risk::evaluations::{Evaluation, Evaluations};
use fairway_risk::schedule::{Due, Moment, Scheduler, Settings};
use fairway_risk::{Answer, Concern, Failure, Outcomes, sources};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use tokio::time::Instant;

use super::notes::Notes;
use super::telemetry::Telemetry;
use crate::metrics;

/// Queries that are asked at the same time: a slow one does not hold up the others, and the
/// cluster's monitoring has other users.
const MAX_IN_FLIGHT: usize = 8;

/// The time between two looks at the alerts: their own rules are evaluated about as often.
const ALERTS: Duration = Duration::from_mins(1);

/// What is asked of the cluster's metrics.
pub(super) struct Questions {
    telemetry: Arc<Telemetry>,
    scheduler: Scheduler,
    notes: Notes,
    began: Instant,
    in_flight: FuturesUnordered<BoxFuture<'static, Answered>>,
    queries_in_flight: usize,
    due: Due,
    alerts: Alerts,
    alerts_due: Option<Instant>,
    metrics: metrics::Queries,
}

/// What is known about the alerts.
#[derive(Debug, PartialEq)]
pub(super) enum Alerts {
    /// They were asked for, and there is no answer yet.
    Asked,
    /// There never was an answer that could be understood.
    Unknown,
    /// What they say against updates.
    Known(Vec<Concern>),
}

impl Alerts {
    /// Takes in what alerts say; whether that is news. Their texts have numbers in them that
    /// change by the minute: the same alerts keep the texts they had.
    fn learn(&mut self, told: Vec<Concern>) -> bool {
        let same = |(one, other): (&Concern, &Concern)| {
            let since = |concern: &Concern| concern.risk.claim.as_ref().map(|claim| claim.since);
            one.risk.name == other.risk.name && since(one) == since(other)
        };
        match self {
            Self::Known(known)
                if known.len() == told.len() && known.iter().zip(&told).all(same) =>
            {
                false
            }
            _ => {
                *self = Self::Known(told);
                true
            }
        }
    }

    /// There is no answer; whether that is news. The last good one stands.
    fn fail(&mut self, error: &str) -> bool {
        if *self != Self::Asked {
            tracing::debug!(error, "cannot read alerts; using previous alerts");
            return false;
        }
        tracing::warn!(error, "cannot read alerts; using alerts of the status");
        *self = Self::Unknown;
        true
    }
}

enum Answered {
    Query { query: String, came: Result<Answer, Failure> },
    Alerts(Option<Result<Vec<u8>, String>>),
}

impl Questions {
    pub(super) fn new(telemetry: Telemetry, pace: Settings, metrics: metrics::Queries) -> Self {
        let now = Instant::now();
        Self {
            telemetry: Arc::new(telemetry),
            scheduler: Scheduler::new(pace),
            notes: Notes::default(),
            began: now,
            in_flight: FuturesUnordered::new(),
            queries_in_flight: 0,
            due: Due::Idle,
            alerts: Alerts::Asked,
            alerts_due: Some(now),
            metrics,
        }
    }

    /// The latest outcome of every query, and when the turn comes of those that wait for long.
    pub(super) fn outcomes(&self, now: Timestamp) -> Outcomes {
        self.scheduler.outcomes_at(self.now(), now)
    }

    /// What the alerts say against updates, as they were last told.
    pub(super) fn alerts(&self) -> &Alerts {
        &self.alerts
    }

    /// From now on these queries are wanted.
    pub(super) fn want(&mut self, queries: &[String]) {
        self.scheduler.want(queries, self.now());
        self.notes.keep_only(self.scheduler.outcomes());
    }

    /// What came of all queries, once there is something new to publish. Answers that come in one
    /// after the other are collected, for as long as the next is not a while away.
    pub(super) fn news(&mut self, a_while: Duration) -> Option<Evaluations> {
        let more_to_come = !self.are_settled(a_while);
        self.notes.news(more_to_come)
    }

    /// When there is something to publish, whatever is to come.
    pub(super) fn news_due(&self) -> Option<Instant> {
        self.notes.due()
    }

    /// Asks whatever may be asked now.
    pub(super) fn ask(&mut self) {
        if self.alerts_due.is_some_and(|due| due <= Instant::now()) {
            self.alerts_due = None;
            let telemetry = Arc::clone(&self.telemetry);
            let alerts = async move { Answered::Alerts(telemetry.alerts().await) };
            self.in_flight.push(Box::pin(alerts));
        }
        while self.queries_in_flight < MAX_IN_FLIGHT {
            self.due = self.scheduler.next_due(self.now());
            let Due::Query(query) = &self.due else { return };
            self.queries_in_flight += 1;
            self.in_flight.push(Box::pin(answer(Arc::clone(&self.telemetry), query.clone())));
        }
    }

    /// Whether no more answers are to be expected for a while.
    pub(super) fn are_settled(&self, a_while: Duration) -> bool {
        let soon = match &self.due {
            Due::Query(_) => true,
            Due::SleepUntil(moment) => moment.0 < self.now().0 + a_while,
            Due::Idle => false,
        };
        self.queries_in_flight == 0 && !soon
    }

    /// When there is something to ask next.
    pub(super) fn due(&self) -> Option<Instant> {
        let query = match &self.due {
            Due::SleepUntil(Moment(since)) => Some(self.began + *since),
            // With a place free it was asked; without one, an answer comes first.
            Due::Query(_) | Due::Idle => None,
        };
        [query, self.alerts_due].into_iter().flatten().min()
    }

    /// Waits for an answer and takes it in, with all others that are there; says whether the
    /// alerts are not what they were.
    pub(super) async fn answered(&mut self) -> bool {
        let Some(first) = self.in_flight.next().await else {
            return std::future::pending().await;
        };
        let mut alerts_changed = self.take_in(first);
        while let Some(Some(next)) = futures::FutureExt::now_or_never(self.in_flight.next()) {
            alerts_changed |= self.take_in(next);
        }
        alerts_changed
    }

    fn take_in(&mut self, answered: Answered) -> bool {
        match answered {
            Answered::Query { query, came } => {
                self.queries_in_flight -= 1;
                self.learn(&query, &came);
                false
            }
            Answered::Alerts(None) => {
                self.alerts = Alerts::Known(Vec::new());
                true
            }
            Answered::Alerts(Some(told)) => {
                self.alerts_due = Some(Instant::now() + ALERTS);
                let understood =
                    |alerts: Vec<u8>| sources::alerts(&alerts).map_err(|error| error.to_string());
                match told.and_then(understood) {
                    Ok(alerts) => self.alerts.learn(alerts),
                    Err(error) => self.alerts.fail(&error),
                }
            }
        }
    }

    fn learn(&mut self, query: &str, came: &Result<Answer, Failure>) {
        let (now, time) = (self.now(), fairway_clock::now());
        let outcome = came.as_ref().map_err(Clone::clone).and_then(Answer::outcome);
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
        self.notes.learn(Evaluation::new(query, came, time, next));
    }

    fn now(&self) -> Moment {
        Moment(self.began.elapsed())
    }
}

async fn answer(telemetry: Arc<Telemetry>, query: String) -> Answered {
    let came = telemetry.ask(&query).await;
    Answered::Query { query, came }
}

#[cfg(test)]
mod tests {
    use fairway_risk::{Claim, Risk, Source, Targets};

    use super::*;

    fn alert(name: &str, message: &str, since: i64) -> Concern {
        let since = Timestamp::from_second(since).ok();
        let claim = Claim { since, ..Claim::new(true, "Alert:firing", message) };
        let risk = Risk::always(name, message, "https://example.com").claiming(claim);
        Concern { risk, source: Source::Alert, targets: Targets::All }
    }

    #[test]
    fn alerts_are_news_when_others_fire_but_not_when_their_numbers_change() {
        let mut alerts = Alerts::Asked;
        assert!(alerts.learn(vec![alert("DiskFull", "2.9 % free", 10)]));
        assert!(!alerts.learn(vec![alert("DiskFull", "2.8 % free", 10)]));
        assert_eq!(alerts, Alerts::Known(vec![alert("DiskFull", "2.9 % free", 10)]));
        assert!(alerts.learn(vec![alert("DiskFull", "1 % free", 20)]), "it fires anew");
        assert!(alerts.learn(vec![alert("DiskSlow", "slow", 20)]));
        assert!(alerts.learn(Vec::new()));
    }

    #[test]
    fn what_alerts_said_stands_while_they_cannot_be_read() {
        let mut alerts = Alerts::Asked;
        assert!(alerts.fail("down"), "there is no sense in waiting any longer");
        assert!(!alerts.fail("down"));
        assert_eq!(alerts, Alerts::Unknown);
        alerts.learn(vec![alert("DiskFull", "full", 10)]);
        assert!(!alerts.fail("down"));
        assert_eq!(alerts, Alerts::Known(vec![alert("DiskFull", "full", 10)]));
    }
}
