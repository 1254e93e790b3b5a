//! Schedule of queries.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fairway_risk::schedule::{MonotonicTime, NextAction, Scheduler, SchedulerSettings};
use proptest::prelude::*;

use crate::support::{at, failed};

fn second(seconds: u64) -> MonotonicTime {
    MonotonicTime(Duration::from_secs(seconds))
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("query{number}")).collect()
}

fn next_query(scheduler: &mut Scheduler, now: MonotonicTime) -> String {
    match scheduler.next_due(now) {
        NextAction::Query(query) => query,
        other => panic!("a query was due, not {other:?}"),
    }
}

#[test]
fn burst_is_followed_by_interval() {
    let mut scheduler = Scheduler::new(SchedulerSettings::default());
    scheduler.want(&names(20), second(100));
    for number in 0..8 {
        assert_eq!(next_query(&mut scheduler, second(100)), format!("query{number}"));
    }
    assert_eq!(scheduler.next_due(second(100)), NextAction::SleepUntil(second(101)));
    assert_eq!(next_query(&mut scheduler, second(101)), "query8");
    assert_eq!(scheduler.next_due(second(101)), NextAction::SleepUntil(second(102)));
}

#[test]
fn long_interval_is_respected() {
    let settings = SchedulerSettings {
        min_interval: Duration::from_mins(10),
        burst: 1,
        ..SchedulerSettings::default()
    };
    let mut scheduler = Scheduler::new(settings);
    scheduler.want(&names(3), second(0));
    for number in 0..3 {
        let now = second(600 * number);
        let query = next_query(&mut scheduler, now);
        scheduler.answered(&query, Ok(true), now);
        let due = if number < 2 { 600 * (number + 1) } else { 3600 };
        assert_eq!(scheduler.next_due(now), NextAction::SleepUntil(second(due)));
    }
}

#[test]
fn long_delays_are_reported() {
    let settings = SchedulerSettings {
        min_interval: Duration::from_mins(10),
        burst: 1,
        ..SchedulerSettings::default()
    };
    let mut scheduler = Scheduler::new(settings);
    scheduler.want(&names(3), second(0));
    let query = next_query(&mut scheduler, second(0));
    scheduler.answered(&query, Ok(true), second(30));
    let outcomes = scheduler.outcomes_at(second(30), at(30));
    let described = |query: &str| match &outcomes[query] {
        Ok(outcome) => outcome.to_string(),
        Err(failure) => failure.to_string(),
    };
    let described = names(3).iter().map(|query| described(query)).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(described, @"
    true
    the operator has not evaluated the query yet; scheduled for 2021-08-28T01:10:00Z
    the operator has not evaluated the query yet; scheduled for 2021-08-28T01:20:00Z
    ");
    assert_eq!(scheduler.outcomes_at(second(550), at(550)).len(), 2, "one is due soon");

    scheduler = Scheduler::new(SchedulerSettings::default());
    scheduler.want(&names(64), second(0));
    assert!(scheduler.outcomes_at(second(0), at(0)).is_empty());
}

#[test]
fn successful_query_is_refreshed_after_an_hour() {
    let mut scheduler = Scheduler::new(SchedulerSettings::default());
    scheduler.want(&names(1), second(0));
    let query = next_query(&mut scheduler, second(0));
    assert_eq!(scheduler.next_due(second(0)), NextAction::Idle, "the query is in flight");
    scheduler.answered(&query, Ok(false), second(3));
    assert_eq!(scheduler.outcomes()[&query], Ok(false));
    assert_eq!(scheduler.next_due(second(3)), NextAction::SleepUntil(second(3603)));
    assert_eq!(next_query(&mut scheduler, second(3603)), query);
    assert_eq!(scheduler.outcomes()[&query], Ok(false), "the previous outcome is kept");
}

#[test]
fn failed_queries_back_off_up_to_10_minutes() {
    let mut scheduler = Scheduler::new(SchedulerSettings::default());
    scheduler.want(&names(1), second(0));
    let mut now = second(0);
    let mut pauses = Vec::new();
    for _ in 0..10 {
        let query = next_query(&mut scheduler, now);
        scheduler.answered(&query, failed(), now);
        let NextAction::SleepUntil(then) = scheduler.next_due(now) else { panic!() };
        pauses.push(then.0.as_secs() - now.0.as_secs());
        now = then;
    }
    assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
    let query = next_query(&mut scheduler, now);
    scheduler.answered(&query, Ok(true), now);
    now = MonotonicTime(now.0 + Duration::from_hours(1));
    let query = next_query(&mut scheduler, now);
    scheduler.answered(&query, failed(), now);
    assert_eq!(
        scheduler.next_due(now),
        NextAction::SleepUntil(MonotonicTime(now.0 + Duration::from_secs(5)))
    );
}

#[test]
fn removed_and_added_query_keeps_its_schedule() {
    let mut scheduler = Scheduler::new(SchedulerSettings::default());
    scheduler.want(&names(1), second(0));
    let query = next_query(&mut scheduler, second(0));
    scheduler.answered(&query, Ok(true), second(0));
    scheduler.want(&[], second(1));
    assert_eq!(scheduler.next_due(second(1)), NextAction::Idle);
    scheduler.want(&names(1), second(2));
    assert_eq!(scheduler.next_due(second(2)), NextAction::SleepUntil(second(3600)));
    scheduler.want(&[], second(4000));
    assert!(scheduler.outcomes().is_empty(), "outdated outcomes are dropped");
}

#[test]
fn stalest_query_comes_first() {
    let mut scheduler =
        Scheduler::new(SchedulerSettings { burst: 1, ..SchedulerSettings::default() });
    scheduler.want(&names(2), second(0));
    for now in [second(0), second(1)] {
        let query = next_query(&mut scheduler, now);
        scheduler.answered(&query, Ok(true), now);
    }
    let all = ["query1", "query0", "new"].map(str::to_owned);
    scheduler.want(&all, second(9000));
    let order = [9000, 9001, 9002].map(|now| next_query(&mut scheduler, second(now)));
    assert_eq!(order, ["new", "query0", "query1"]);
}

/// Operations on a scheduler.
#[derive(Clone, Debug)]
enum Step {
    Want(BTreeSet<usize>),
    QueryResult { good: bool },
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => proptest::collection::btree_set(0..30usize, 0..30).prop_map(Step::Want),
        4 => any::<bool>().prop_map(|good| Step::QueryResult { good }),
        4 => (0..2000u64).prop_map(Step::Wait),
    ]
}

fn settings() -> impl Strategy<Value = SchedulerSettings> {
    (0..20u64, 0..10u32, 1..4000u64, 0..60u64, 1..700u64).prop_map(
        |(interval, burst, refresh, first, last)| SchedulerSettings {
            min_interval: Duration::from_secs(interval),
            burst,
            refresh: Duration::from_secs(refresh),
            first_retry: Duration::from_secs(first),
            last_retry: Duration::from_secs(last),
        },
    )
}

proptest! {
    #[test]
    fn scheduler_is_never_early_and_never_spins(
        settings in settings(),
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let mut scheduler = Scheduler::new(settings);
        let mut now = Duration::ZERO;
        let mut in_flight: Vec<String> = Vec::new();
        let mut good: BTreeMap<String, Duration> = BTreeMap::new();
        let mut evaluated: Vec<Duration> = Vec::new();
        for step in steps {
            match step {
                Step::Want(numbers) => {
                    let queries: Vec<String> = numbers.iter().map(|number| format!("query{number}")).collect();
                    scheduler.want(&queries, MonotonicTime(now));
                }
                Step::QueryResult { good: is_good } => if let Some(query) = in_flight.pop() {
                    let outcome = if is_good { Ok(true) } else { failed() };
                    scheduler.answered(&query, outcome, MonotonicTime(now));
                    if is_good { good.insert(query, now); } else { good.remove(&query); }
                },
                Step::Wait(millis) => now += Duration::from_millis(millis),
            }
            // At one time, the number of due queries is bounded.
            for iteration in 0.. {
                prop_assert!(iteration <= 30, "more actions than queries");
                match scheduler.next_due(MonotonicTime(now)) {
                    NextAction::Idle => break,
                    NextAction::SleepUntil(then) => { prop_assert!(then.0 > now); break; }
                    NextAction::Query(query) => {
                        prop_assert!(!in_flight.contains(&query), "already in flight");
                        if let Some(last) = good.get(&query) {
                            prop_assert!(now >= *last + settings.refresh, "refreshed too early");
                        }
                        evaluated.push(now);
                        let burst = settings.burst.max(1) as usize;
                        if let Some(before) = evaluated.len().checked_sub(burst + 1) {
                            prop_assert!(now >= evaluated[before] + settings.min_interval, "interval too short");
                        }
                        in_flight.push(query);
                    }
                }
            }
        }
    }

    #[test]
    fn every_query_is_evaluated(settings in settings(), count in 1..60usize, bad in proptest::collection::btree_set(0..60usize, 0..60)) {
        let mut scheduler = Scheduler::new(settings);
        scheduler.want(&names(count), MonotonicTime::default());
        let mut now = MonotonicTime::default();
        let mut answered = BTreeSet::new();
        // Failing queries are retried, but every query is evaluated.
        for _ in 0..20 * count {
            match scheduler.next_due(now) {
                NextAction::Query(query) => {
                    let number: usize = query["query".len()..].parse().unwrap();
                    let outcome = if bad.contains(&number) { failed() } else { Ok(true) };
                    scheduler.answered(&query, outcome, now);
                    answered.insert(number);
                }
                NextAction::SleepUntil(then) => now = then,
                NextAction::Idle => break,
            }
        }
        prop_assert_eq!(answered.len(), count);
    }

    #[test]
    fn number_of_queries_is_bounded(rounds in proptest::collection::vec(0..2000usize, 1..4)) {
        let mut scheduler = Scheduler::new(SchedulerSettings { burst: 10_000, ..SchedulerSettings::default() });
        for (index, first) in rounds.iter().enumerate() {
            let queries: Vec<String> = (*first..first + 600).map(|number| format!("q{number}")).collect();
            let now = second(index as u64);
            scheduler.want(&queries, now);
            while let NextAction::Query(query) = scheduler.next_due(now) {
                scheduler.answered(&query, Ok(true), now);
            }
            prop_assert!(scheduler.outcomes().len() <= 500);
        }
    }
}
