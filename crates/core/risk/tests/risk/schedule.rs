//! When queries are asked.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fairway_risk::schedule::{Due, Moment, Scheduler, Settings};
use proptest::prelude::*;

use crate::support::{at, failed};

fn second(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("query{number}")).collect()
}

fn ask(scheduler: &mut Scheduler, now: Moment) -> String {
    match scheduler.next_due(now) {
        Due::Query(query) => query,
        other => panic!("a query was due, not {other:?}"),
    }
}

#[test]
fn a_burst_and_then_one_at_a_time() {
    let mut scheduler = Scheduler::new(Settings::default());
    scheduler.want(&names(20), second(100));
    for number in 0..8 {
        assert_eq!(ask(&mut scheduler, second(100)), format!("query{number}"));
    }
    assert_eq!(scheduler.next_due(second(100)), Due::SleepUntil(second(101)));
    assert_eq!(ask(&mut scheduler, second(101)), "query8");
    assert_eq!(scheduler.next_due(second(101)), Due::SleepUntil(second(102)));
}

#[test]
fn the_pace_of_ten_minutes() {
    let settings =
        Settings { min_interval: Duration::from_mins(10), burst: 1, ..Settings::default() };
    let mut scheduler = Scheduler::new(settings);
    scheduler.want(&names(3), second(0));
    for number in 0..3 {
        let now = second(600 * number);
        let query = ask(&mut scheduler, now);
        scheduler.answered(&query, Ok(true), now);
        let due = if number < 2 { 600 * (number + 1) } else { 3600 };
        assert_eq!(scheduler.next_due(now), Due::SleepUntil(second(due)));
    }
}

#[test]
fn who_waits_long_is_told_until_when() {
    let settings =
        Settings { min_interval: Duration::from_mins(10), burst: 1, ..Settings::default() };
    let mut scheduler = Scheduler::new(settings);
    scheduler.want(&names(3), second(0));
    let query = ask(&mut scheduler, second(0));
    scheduler.answered(&query, Ok(true), second(30));
    let outcomes = scheduler.outcomes_at(second(30), at(30));
    let told = |query: &str| match &outcomes[query] {
        Ok(outcome) => outcome.to_string(),
        Err(failure) => failure.to_string(),
    };
    let told = names(3).iter().map(|query| told(query)).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(told, @"
    true
    the query is not evaluated yet; scheduled for 2021-08-28T01:10:00Z
    the query is not evaluated yet; scheduled for 2021-08-28T01:20:00Z
    ");
    assert_eq!(scheduler.outcomes_at(second(550), at(550)).len(), 2, "one is about to be asked");

    scheduler = Scheduler::new(Settings::default());
    scheduler.want(&names(64), second(0));
    assert!(scheduler.outcomes_at(second(0), at(0)).is_empty());
}

#[test]
fn an_hour_after_a_good_answer() {
    let mut scheduler = Scheduler::new(Settings::default());
    scheduler.want(&names(1), second(0));
    let query = ask(&mut scheduler, second(0));
    assert_eq!(scheduler.next_due(second(0)), Due::Idle, "it is being asked");
    scheduler.answered(&query, Ok(false), second(3));
    assert_eq!(scheduler.outcomes()[&query], Ok(false));
    assert_eq!(scheduler.next_due(second(3)), Due::SleepUntil(second(3603)));
    assert_eq!(ask(&mut scheduler, second(3603)), query);
    assert_eq!(scheduler.outcomes()[&query], Ok(false), "the old answer stands until then");
}

#[test]
fn a_growing_pause_after_bad_answers() {
    let mut scheduler = Scheduler::new(Settings::default());
    scheduler.want(&names(1), second(0));
    let mut now = second(0);
    let mut pauses = Vec::new();
    for _ in 0..10 {
        let query = ask(&mut scheduler, now);
        scheduler.answered(&query, failed(), now);
        let Due::SleepUntil(then) = scheduler.next_due(now) else { panic!() };
        pauses.push(then.0.as_secs() - now.0.as_secs());
        now = then;
    }
    assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
    let query = ask(&mut scheduler, now);
    scheduler.answered(&query, Ok(true), now);
    now = Moment(now.0 + Duration::from_hours(1));
    let query = ask(&mut scheduler, now);
    scheduler.answered(&query, failed(), now);
    assert_eq!(scheduler.next_due(now), Due::SleepUntil(Moment(now.0 + Duration::from_secs(5))));
}

#[test]
fn coming_and_going_does_not_make_a_query_due() {
    let mut scheduler = Scheduler::new(Settings::default());
    scheduler.want(&names(1), second(0));
    let query = ask(&mut scheduler, second(0));
    scheduler.answered(&query, Ok(true), second(0));
    scheduler.want(&[], second(1));
    assert_eq!(scheduler.next_due(second(1)), Due::Idle);
    scheduler.want(&names(1), second(2));
    assert_eq!(scheduler.next_due(second(2)), Due::SleepUntil(second(3600)));
    scheduler.want(&[], second(4000));
    assert!(scheduler.outcomes().is_empty(), "what is out of date is forgotten");
}

#[test]
fn the_stalest_comes_first() {
    let mut scheduler = Scheduler::new(Settings { burst: 1, ..Settings::default() });
    scheduler.want(&names(2), second(0));
    for now in [second(0), second(1)] {
        let query = ask(&mut scheduler, now);
        scheduler.answered(&query, Ok(true), now);
    }
    let all = ["query1", "query0", "new"].map(str::to_owned);
    scheduler.want(&all, second(9000));
    let order = [9000, 9001, 9002].map(|now| ask(&mut scheduler, second(now)));
    assert_eq!(order, ["new", "query0", "query1"]);
}

/// What happens to a scheduler.
#[derive(Clone, Debug)]
enum Step {
    Want(BTreeSet<usize>),
    Answer { good: bool },
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => proptest::collection::btree_set(0..30usize, 0..30).prop_map(Step::Want),
        4 => any::<bool>().prop_map(|good| Step::Answer { good }),
        4 => (0..2000u64).prop_map(Step::Wait),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    (0..20u64, 0..10u32, 1..4000u64, 0..60u64, 1..700u64).prop_map(
        |(interval, burst, refresh, first, last)| Settings {
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
    fn never_early_and_never_spinning(
        settings in settings(),
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        let mut scheduler = Scheduler::new(settings);
        let mut now = Duration::ZERO;
        let mut in_flight: Vec<String> = Vec::new();
        let mut good: BTreeMap<String, Duration> = BTreeMap::new();
        let mut asked: Vec<Duration> = Vec::new();
        for step in steps {
            match step {
                Step::Want(numbers) => {
                    let queries: Vec<String> = numbers.iter().map(|number| format!("query{number}")).collect();
                    scheduler.want(&queries, Moment(now));
                }
                Step::Answer { good: is_good } => if let Some(query) = in_flight.pop() {
                    let outcome = if is_good { Ok(true) } else { failed() };
                    scheduler.answered(&query, outcome, Moment(now));
                    if is_good { good.insert(query, now); } else { good.remove(&query); }
                },
                Step::Wait(millis) => now += Duration::from_millis(millis),
            }
            // Within one moment there is an end to it.
            for round in 0.. {
                prop_assert!(round <= 30, "more than there are queries");
                match scheduler.next_due(Moment(now)) {
                    Due::Idle => break,
                    Due::SleepUntil(then) => { prop_assert!(then.0 > now); break; }
                    Due::Query(query) => {
                        prop_assert!(!in_flight.contains(&query), "it is being asked already");
                        if let Some(last) = good.get(&query) {
                            prop_assert!(now >= *last + settings.refresh, "asked again too early");
                        }
                        asked.push(now);
                        let burst = settings.burst.max(1) as usize;
                        if let Some(before) = asked.len().checked_sub(burst + 1) {
                            prop_assert!(now >= asked[before] + settings.min_interval, "too fast");
                        }
                        in_flight.push(query);
                    }
                }
            }
        }
    }

    #[test]
    fn never_starved(settings in settings(), count in 1..60usize, bad in proptest::collection::btree_set(0..60usize, 0..60)) {
        let mut scheduler = Scheduler::new(settings);
        scheduler.want(&names(count), Moment::default());
        let mut now = Moment::default();
        let mut answered = BTreeSet::new();
        // Those that fail are asked again and again, and still everyone gets a turn.
        for _ in 0..20 * count {
            match scheduler.next_due(now) {
                Due::Query(query) => {
                    let number: usize = query["query".len()..].parse().unwrap();
                    let outcome = if bad.contains(&number) { failed() } else { Ok(true) };
                    scheduler.answered(&query, outcome, now);
                    answered.insert(number);
                }
                Due::SleepUntil(then) => now = then,
                Due::Idle => break,
            }
        }
        prop_assert_eq!(answered.len(), count);
    }

    #[test]
    fn state_is_bounded(rounds in proptest::collection::vec(0..2000usize, 1..4)) {
        let mut scheduler = Scheduler::new(Settings { burst: 10_000, ..Settings::default() });
        for (round, first) in rounds.iter().enumerate() {
            let queries: Vec<String> = (*first..first + 600).map(|number| format!("q{number}")).collect();
            let now = second(round as u64);
            scheduler.want(&queries, now);
            while let Due::Query(query) = scheduler.next_due(now) {
                scheduler.answered(&query, Ok(true), now);
            }
            prop_assert!(scheduler.outcomes().len() <= 500);
        }
    }
}
