//! When to ask which query.
//!
//! A state machine without a clock: whoever drives it says what time it is, on a clock that never
//! goes back. Queries cost the cluster's monitoring, so there is a pace between any two, an hour
//! between two good answers to the same one, and a growing pause after a bad one.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_backoff::Backoff;
use jiff::Timestamp;

use crate::answer::{Failure, Outcome, Outcomes};

/// Distinct queries that are kept in mind. The real data of a whole platform has 64.
pub(crate) const MAX_QUERIES: usize = 500;

/// Whatever the settings say, the same query is not asked more often than that.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Who waits for less is not told: it would be over before anybody has read of it.
const LONG_WAIT: Duration = Duration::from_mins(2);

/// How fast to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The time between any two queries, once the burst is used up.
    pub min_interval: Duration,
    /// The queries that may be asked at once after a quiet time.
    pub burst: u32,
    /// The time between a good answer and the next time that query is asked.
    pub refresh: Duration,
    /// The time between the first bad answer and the next time that query is asked. It doubles
    /// with each further one.
    pub first_retry: Duration,
    /// What that time grows to.
    pub last_retry: Duration,
}

impl Default for Settings {
    /// A query a second, eight at once; an hour between good answers.
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

/// A time on a clock that never goes back: how long ago the program started, say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Duration);

impl Moment {
    fn after(self, pause: Duration) -> Self {
        Self(self.0.saturating_add(pause))
    }

    fn before(self, pause: Duration) -> Self {
        Self(self.0.saturating_sub(pause))
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// Ask this query, and hand in what comes of it.
    Query(String),
    /// Nothing before that time, unless other queries are wanted or an answer comes in.
    SleepUntil(Moment),
    /// Nothing, until other queries are wanted or an answer comes in.
    Idle,
}

/// When to ask which query.
#[derive(Clone, Debug)]
pub struct Scheduler {
    settings: Settings,
    queries: BTreeMap<String, State>,
    outcomes: Outcomes,
    /// When the pace would be kept if queries had come evenly.
    paced: Moment,
}

#[derive(Clone, Debug)]
struct State {
    /// Its place among the wanted ones; none where nobody wants it any more.
    wanted: Option<usize>,
    /// When it was asked last.
    asked: Option<Moment>,
    in_flight: bool,
    /// Bad answers since the last good one.
    failures: u32,
    /// When it may be asked again.
    due: Moment,
}

impl State {
    /// Whether it is to be asked, now or later.
    fn is_waiting(&self) -> bool {
        self.wanted.is_some() && !self.in_flight
    }

    /// The stalest first, and among those never asked the most wanted.
    fn urgency(&self) -> (Option<Moment>, Option<usize>) {
        (self.asked, self.wanted)
    }
}

impl Scheduler {
    /// A scheduler that has nothing to do.
    pub fn new(settings: Settings) -> Self {
        let (queries, outcomes) = (BTreeMap::new(), Outcomes::new());
        Self { settings, queries, outcomes, paced: Moment::default() }
    }

    /// From now on these queries are wanted, the most urgent first, and no others.
    ///
    /// What is known about the others is kept until it would have to be asked again: a query that
    /// comes and goes is not asked more often than one that stays.
    pub fn want(&mut self, queries: &[String], now: Moment) {
        for state in self.queries.values_mut() {
            state.wanted = None;
        }
        for (place, query) in queries.iter().enumerate() {
            if let Some(state) = self.queries.get_mut(query) {
                state.wanted = state.wanted.or(Some(place));
            }
        }
        self.queries
            .retain(|_, state| state.wanted.is_some() || state.in_flight || state.due > now);
        self.outcomes.retain(|query, _| self.queries.contains_key(query));
        for (place, query) in queries.iter().enumerate() {
            if self.queries.len() < MAX_QUERIES && !self.queries.contains_key(query) {
                let wanted = Some(place);
                let state = State { wanted, asked: None, in_flight: false, failures: 0, due: now };
                self.queries.insert(query.clone(), state);
            }
        }
    }

    /// What to do now. A query that is returned counts as asked.
    pub fn next_due(&mut self, now: Moment) -> Due {
        let free = self.free();
        let due = self.waiting().filter(|(_, state)| state.due <= now);
        let first = due.min_by_key(|(_, state)| state.urgency()).map(|(query, _)| query.clone());
        let soonest = self.waiting().map(|(_, state)| state.due).min();
        match (first, soonest) {
            (Some(query), _) if free <= now => {
                self.ask(&query, now);
                Due::Query(query)
            }
            (_, Some(soonest)) => Due::SleepUntil(soonest.max(free)),
            (_, None) => Due::Idle,
        }
    }

    fn waiting(&self) -> impl Iterator<Item = (&String, &State)> {
        self.queries.iter().filter(|(_, state)| state.is_waiting())
    }

    fn ask(&mut self, query: &str, now: Moment) {
        if let Some(state) = self.queries.get_mut(query) {
            state.in_flight = true;
            state.asked = Some(now);
            self.paced = self.paced.max(now).after(self.settings.min_interval);
        }
    }

    /// Takes in what came of a query that was asked.
    pub fn answered(&mut self, query: &str, outcome: Outcome, now: Moment) {
        let Some(state) = self.queries.get_mut(query).filter(|state| state.in_flight) else {
            return;
        };
        state.in_flight = false;
        state.failures = if outcome.is_ok() { 0 } else { state.failures.saturating_add(1) };
        state.due = now.after(self.settings.pause(state.failures));
        self.outcomes.insert(query.to_owned(), outcome);
    }

    /// The latest outcome of every query that is kept in mind.
    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// When a query may be asked again; none where nobody wants it.
    pub fn due(&self, query: &str) -> Option<Moment> {
        self.queries.get(query).filter(|state| state.is_waiting()).map(|state| state.due)
    }

    /// The latest outcomes, and until when queries without an answer have to wait, where that is long. `time`
    /// is what other clocks say now.
    pub fn outcomes_at(&self, now: Moment, time: Timestamp) -> Outcomes {
        let mut outcomes = self.outcomes.clone();
        for query in self.queries.keys().filter(|query| !self.outcomes.contains_key(*query)) {
            let wait = self.turn(query).map(|turn| turn.0.saturating_sub(now.0));
            if let Some(wait) = wait.filter(|wait| *wait >= LONG_WAIT) {
                let turn = time.saturating_add(wait).ok().map(whole_minute);
                outcomes.insert(query.clone(), Err(Failure::Pending(turn)));
            }
        }
        outcomes
    }

    /// When a query is asked if those before it in line are; none where it is not in line.
    fn turn(&self, query: &str) -> Option<Moment> {
        let state = self.queries.get(query).filter(|state| state.is_waiting())?;
        let ahead = self.waiting().filter(|(_, other)| other.urgency() < state.urgency()).count();
        let line = self.settings.min_interval.saturating_mul(u32::try_from(ahead).ok()?);
        Some(self.free().after(line).max(state.due))
    }

    /// When the pace allows the next query.
    fn free(&self) -> Moment {
        let ahead = self.settings.burst.saturating_sub(1);
        self.paced.before(self.settings.min_interval.saturating_mul(ahead))
    }
}

/// The minute in which the time is over. What people read should not change every second.
fn whole_minute(time: Timestamp) -> Timestamp {
    let minute = time.as_second().saturating_add(59).div_euclid(60).saturating_mul(60);
    Timestamp::from_second(minute).unwrap_or(time)
}

impl Settings {
    /// The time until a query is asked again after that many bad answers.
    fn pause(&self, failures: u32) -> Duration {
        let backoff = Backoff { first: self.first_retry, max: self.last_retry };
        let pause = if failures == 0 { self.refresh } else { backoff.after(failures) };
        pause.max(SHORTEST_PAUSE)
    }
}
