//! When to ask which query.
//!
//! A state machine without a clock: whoever drives it says what time it is, on a clock that never
//! goes back. Queries cost the cluster's monitoring, so there is a pace between any two, an hour
//! between two good answers to the same one, and a growing pause after a bad one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::answer::{Outcome, Outcomes};

/// Distinct queries that are kept in mind. The real data of a whole platform has 64.
const MAX_QUERIES: usize = 500;

/// Whatever the settings say, the same query is not asked more often than that.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

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
        let waiting = self.queries.iter_mut().filter(|(_, state)| state.is_waiting());
        let mut soonest = None;
        let mut first: Option<(&String, &mut State)> = None;
        for (query, state) in waiting {
            soonest = Some(soonest.map_or(state.due, |soonest: Moment| soonest.min(state.due)));
            if state.due <= now
                && first.as_ref().is_none_or(|(_, first)| state.urgency() < first.urgency())
            {
                first = Some((query, state));
            }
        }
        match (first, soonest) {
            (Some((query, state)), _) if free <= now => {
                state.in_flight = true;
                state.asked = Some(now);
                self.paced = self.paced.max(now).after(self.settings.min_interval);
                Due::Query(query.clone())
            }
            (_, Some(soonest)) => Due::SleepUntil(soonest.max(free)),
            (_, None) => Due::Idle,
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

    /// When the pace allows the next query.
    fn free(&self) -> Moment {
        let ahead = self.settings.burst.saturating_sub(1);
        self.paced.before(self.settings.min_interval.saturating_mul(ahead))
    }
}

impl Settings {
    /// The time until a query is asked again after that many bad answers.
    fn pause(&self, failures: u32) -> Duration {
        let pause = match failures.checked_sub(1) {
            None => self.refresh,
            Some(doublings) => {
                let factor = 2u32.saturating_pow(doublings);
                self.first_retry.saturating_mul(factor).min(self.last_retry)
            }
        };
        pause.max(SHORTEST_PAUSE)
    }
}
