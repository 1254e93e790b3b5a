//! Metrics of watches.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_watch::{StaleWatches, WatchAge};
use tokio::time::Instant;

use super::{Family, Samples};

/// Inactivity after which a watch does not recover by itself. Requests time out after 320 s, and
/// retries follow within a minute.
const MAX_INACTIVITY: Duration = Duration::from_mins(20);

/// Age and staleness of all watches.
pub(super) fn families(
    ages: &BTreeMap<String, WatchAge>,
    stale: &StaleWatches,
    now: Instant,
) -> [Family; 2] {
    let (mut age_samples, mut stale_samples) = (Samples::default(), Samples::default());
    for (name, age) in ages {
        let labels = [("watch", name.as_str())];
        age_samples.add(labels, age.age(now).as_secs_f64());
        stale_samples.add(labels, f64::from(u8::from(stale.get(name).is_some())));
    }
    [
        Family::new(
            "fairway_operator_watch_age_seconds",
            "Time since the last list, start, bookmark or event of a watch",
            age_samples,
        ),
        Family::new(
            "fairway_operator_watch_stale",
            "Whether the data of a watch is too old to act on",
            stale_samples,
        ),
    ]
}

/// The watch that does not recover by itself, if there is one.
pub(super) fn stuck(ages: &BTreeMap<String, WatchAge>, now: Instant) -> Option<String> {
    let is_stuck = |(_, age): &(&String, &WatchAge)| age.inactive(now) >= MAX_INACTIVITY;
    ages.iter().find(is_stuck).map(|(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use fairway_watch::StaleWatch;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    #[test]
    fn families_have_age_and_staleness_of_each_watch() {
        let begin = Instant::now();
        let mut ages = BTreeMap::from([
            ("clusteroperators".to_owned(), WatchAge::new(begin)),
            ("pods".to_owned(), WatchAge::new(begin)),
        ]);
        ages.get_mut("pods").unwrap().started(begin + 10 * MINUTE);
        let stale = StaleWatch {
            name: "clusteroperators".to_owned(),
            since: "2026-01-01T00:00:00Z".parse().unwrap(),
            error: None,
        };
        let families = families(&ages, &[stale].into_iter().collect(), begin + 11 * MINUTE);
        insta::assert_snapshot!(families.map(|family| family.to_string()).concat(), @r#"
        fairway_operator_watch_age_seconds{watch="clusteroperators"} 660
        fairway_operator_watch_age_seconds{watch="pods"} 60
        fairway_operator_watch_stale{watch="clusteroperators"} 1
        fairway_operator_watch_stale{watch="pods"} 0
        "#);
    }

    #[test]
    fn failing_watch_is_not_stuck_while_it_retries() {
        let begin = Instant::now();
        let mut age = WatchAge::new(begin);
        let later = begin + 60 * MINUTE;
        age.failed("forbidden".to_owned(), later - MINUTE);
        let stuck = |age: &WatchAge, now| stuck(&[("pods".to_owned(), age.clone())].into(), now);
        assert_eq!(stuck(&age, later), None);
        assert_eq!(stuck(&age, later + 20 * MINUTE).as_deref(), Some("pods"));
    }
}
