//! Schedule of queries.
//!
//! A state machine without a clock: the caller passes the time of a monotonic clock. Queries load
//! the cluster's monitoring, so there is a minimum interval between any two, an hour between
//! successful evaluations of the same query, and a backoff after failures.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_backoff::Backoff;
use jiff::Timestamp;

use crate::query_result::{QueryFailure, QueryOutcome, QueryOutcomes};

/// Distinct queries in the schedule. OpenShift's graph has 64.
pub(crate) const MAX_QUERIES: usize = 500;

/// Minimum interval between evaluations of the same query, independent of the settings.
const MIN_QUERY_INTERVAL: Duration = Duration::from_secs(1);

/// Shorter delays are not reported: the message would be outdated when it is read.
const MIN_REPORTED_DELAY: Duration = Duration::from_mins(2);

/// Rate limits and intervals of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerSettings {
    /// Interval between any two queries after the burst.
    pub min_interval: Duration,
    /// Number of queries without an interval after an idle time.
    pub burst: u32,
    /// Interval between successful evaluations of the same query.
    pub refresh: Duration,
    /// Delay after the first failure of a query. It doubles with every further failure.
    pub first_retry: Duration,
    /// Maximum delay after a failure.
    pub last_retry: Duration,
}

impl Default for SchedulerSettings {
    /// One query a second with a burst of eight; an hour between successful evaluations.
    fn default() -> Self {
        Self {
            min_interval: Duration::from_secs(1),
            burst: 8,
            refresh: Duration::from_hours(1),
            first_retry: Duration::from_secs(5),
            last_retry: Duration::from_mins(10),
        }
    }
}

/// A time of a monotonic clock, such as the time since process start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonotonicTime(pub Duration);

impl MonotonicTime {
    fn after(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(delay))
    }

    fn before(self, delay: Duration) -> Self {
        Self(self.0.saturating_sub(delay))
    }
}

/// Next action of the scheduler's caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextAction {
    /// Evaluate this query and report the outcome.
    Query(String),
    /// Wait until this time, unless the wanted queries change or an outcome arrives.
    SleepUntil(MonotonicTime),
    /// Wait until the wanted queries change or an outcome arrives.
    Idle,
}

/// Schedule of queries and their latest outcomes.
#[derive(Clone, Debug)]
pub struct Scheduler {
    settings: SchedulerSettings,
    queries: BTreeMap<String, QueryState>,
    outcomes: QueryOutcomes,
    /// Theoretical arrival time of the rate limit (GCRA): the time until which the rate is used up.
    rate_limit: MonotonicTime,
}

#[derive(Clone, Debug)]
struct QueryState {
    /// Index in the wanted queries; `None` if the query is no longer wanted.
    wanted: Option<usize>,
    /// Time of the last evaluation.
    last_evaluated: Option<MonotonicTime>,
    in_flight: bool,
    /// Failures since the last success.
    failures: u32,
    /// Earliest time of the next evaluation.
    due: MonotonicTime,
}

impl QueryState {
    /// Whether the query is to be evaluated, now or later.
    fn is_pending(&self) -> bool {
        self.wanted.is_some() && !self.in_flight
    }

    /// Sort key: the longest time since the last evaluation first, then the order of wanted
    /// queries.
    fn urgency(&self) -> (Option<MonotonicTime>, Option<usize>) {
        (self.last_evaluated, self.wanted)
    }
}

impl Scheduler {
    /// A scheduler without queries.
    pub fn new(settings: SchedulerSettings) -> Self {
        let (queries, outcomes) = (BTreeMap::new(), QueryOutcomes::new());
        Self { settings, queries, outcomes, rate_limit: MonotonicTime::default() }
    }

    /// Sets the wanted queries, the most urgent first.
    ///
    /// State of other queries is kept until they would be due: a query that is removed and added
    /// again is not evaluated more often.
    pub fn want(&mut self, queries: &[String], now: MonotonicTime) {
        for state in self.queries.values_mut() {
            state.wanted = None;
        }
        for (index, query) in queries.iter().enumerate() {
            if let Some(state) = self.queries.get_mut(query) {
                state.wanted = state.wanted.or(Some(index));
            }
        }
        self.queries
            .retain(|_, state| state.wanted.is_some() || state.in_flight || state.due > now);
        self.outcomes.retain(|query, _| self.queries.contains_key(query));
        for (index, query) in queries.iter().enumerate() {
            if self.queries.len() < MAX_QUERIES && !self.queries.contains_key(query) {
                let wanted = Some(index);
                let state = QueryState {
                    wanted,
                    last_evaluated: None,
                    in_flight: false,
                    failures: 0,
                    due: now,
                };
                self.queries.insert(query.clone(), state);
            }
        }
    }

    /// The next action. A returned query counts as in flight.
    pub fn next_due(&mut self, now: MonotonicTime) -> NextAction {
        let next_allowed = self.next_allowed();
        let due = self.pending().filter(|(_, state)| state.due <= now);
        let first = due.min_by_key(|(_, state)| state.urgency()).map(|(query, _)| query.clone());
        let soonest = self.pending().map(|(_, state)| state.due).min();
        match (first, soonest) {
            (Some(query), _) if next_allowed <= now => {
                self.start(&query, now);
                NextAction::Query(query)
            }
            (_, Some(soonest)) => NextAction::SleepUntil(soonest.max(next_allowed)),
            (_, None) => NextAction::Idle,
        }
    }

    fn pending(&self) -> impl Iterator<Item = (&String, &QueryState)> {
        self.queries.iter().filter(|(_, state)| state.is_pending())
    }

    fn start(&mut self, query: &str, now: MonotonicTime) {
        if let Some(state) = self.queries.get_mut(query) {
            state.in_flight = true;
            state.last_evaluated = Some(now);
            self.rate_limit = self.rate_limit.max(now).after(self.settings.min_interval);
        }
    }

    /// Records the outcome of a query.
    pub fn answered(&mut self, query: &str, outcome: QueryOutcome, now: MonotonicTime) {
        let Some(state) = self.queries.get_mut(query).filter(|state| state.in_flight) else {
            return;
        };
        state.in_flight = false;
        state.failures = if outcome.is_ok() { 0 } else { state.failures.saturating_add(1) };
        state.due = now.after(self.settings.delay(state.failures));
        self.outcomes.insert(query.to_owned(), outcome);
    }

    /// The latest outcomes of all scheduled queries.
    pub fn outcomes(&self) -> &QueryOutcomes {
        &self.outcomes
    }

    /// Earliest time of the next evaluation of a wanted query.
    pub fn due(&self, query: &str) -> Option<MonotonicTime> {
        self.queries.get(query).filter(|state| state.is_pending()).map(|state| state.due)
    }

    /// The latest outcomes, and the expected times of pending queries with long delays. `time` is
    /// the wall-clock time at `now`.
    pub fn outcomes_at(&self, now: MonotonicTime, time: Timestamp) -> QueryOutcomes {
        let mut outcomes = self.outcomes.clone();
        for query in self.queries.keys().filter(|query| !self.outcomes.contains_key(*query)) {
            let wait = self
                .expected_time(query)
                .map(|expected_time| expected_time.0.saturating_sub(now.0));
            if let Some(wait) = wait.filter(|wait| *wait >= MIN_REPORTED_DELAY) {
                let expected_time = time.saturating_add(wait).ok().map(whole_minute);
                outcomes.insert(query.clone(), Err(QueryFailure::Pending(expected_time)));
            }
        }
        outcomes
    }

    /// Expected time of a query's evaluation if all queries before it are evaluated on time.
    fn expected_time(&self, query: &str) -> Option<MonotonicTime> {
        let state = self.queries.get(query).filter(|state| state.is_pending())?;
        let ahead = self.pending().filter(|(_, other)| other.urgency() < state.urgency()).count();
        let line = self.settings.min_interval.saturating_mul(u32::try_from(ahead).ok()?);
        Some(self.next_allowed().after(line).max(state.due))
    }

    /// Earliest time at which the rate limit allows a query.
    fn next_allowed(&self) -> MonotonicTime {
        let ahead = self.settings.burst.saturating_sub(1);
        self.rate_limit.before(self.settings.min_interval.saturating_mul(ahead))
    }
}

/// Rounds up to minutes, so that the message does not change every second.
fn whole_minute(time: Timestamp) -> Timestamp {
    let minute = time.as_second().saturating_add(59).div_euclid(60).saturating_mul(60);
    Timestamp::from_second(minute).unwrap_or(time)
}

impl SchedulerSettings {
    /// Delay before the next evaluation after this number of failures.
    fn delay(&self, failures: u32) -> Duration {
        let backoff = Backoff { first: self.first_retry, max: self.last_retry };
        let delay = if failures == 0 { self.refresh } else { backoff.after(failures) };
        delay.max(MIN_QUERY_INTERVAL)
    }
}
