use fairway_api::cluster_version::{Release, UpdateHistory, UpdateState};
use fairway_testkit::objects;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;

use super::prune::{MOST, prune};
use super::{Step, record};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).unwrap()
}

fn step(release: &Release) -> Step<'_> {
    Step { release, verified: false, accepted_risks: None, completed: false }
}

/// What is remembered of one step after another, ten seconds apart.
fn history(steps: &[Step]) -> Vec<UpdateHistory> {
    let mut history = Vec::new();
    for (second, step) in (0..).step_by(10).zip(steps) {
        record(&mut history, step, at(second));
    }
    history
}

/// Each entry in one line: state, version, and when it began and ended.
fn told(history: &[UpdateHistory]) -> String {
    let time = |time: &Option<Time>| {
        time.as_ref()
            .map_or("…".to_owned(), |time| (time.0.as_second() - at(0).as_second()).to_string())
    };
    let line = |entry: &UpdateHistory| {
        let version = entry.version.as_deref().unwrap_or("-");
        let (began, ended) = (time(&entry.started_time), time(&entry.completion_time));
        format!("{} {version} {began}–{ended}", entry.state)
    };
    history.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_installation_and_an_update() {
    let (first, second) = (objects::release("5.0.0"), objects::release("5.0.1"));
    let steps = [
        step(&first),
        step(&first),
        Step { completed: true, ..step(&first) },
        step(&first),
        step(&second),
        Step { completed: true, ..step(&second) },
        Step { completed: true, ..step(&second) },
    ];
    insta::assert_snapshot!(told(&history(&steps)), @"
    Completed 5.0.1 40–50
    Completed 5.0.0 0–20
    ");
}

#[test]
fn what_was_given_up_ends_as_it_was() {
    let [first, second, third] = ["5.0.0", "5.0.1", "5.0.2"].map(objects::release);
    let steps = [
        Step { completed: true, ..step(&first) },
        step(&second),
        step(&third),
        Step { completed: true, ..step(&first) },
    ];
    insta::assert_snapshot!(told(&history(&steps)), @"
    Completed 5.0.0 30–30
    Partial 5.0.2 20–30
    Partial 5.0.1 10–20
    Completed 5.0.0 0–0
    ");
}

#[test]
fn what_was_verified_once_stays_so() {
    let release = objects::release("5.0.0");
    let steps = [step(&release), Step { verified: true, ..step(&release) }, step(&release)];
    assert!(history(&steps)[0].verified);
}

#[test]
fn what_was_overridden_is_never_forgotten() {
    let release = objects::release("5.0.1");
    let overridden = Step { accepted_risks: Some("forced"), ..step(&release) };
    let kept = |last: Step| history(&[overridden, last])[0].accepted_risks.clone();
    assert_eq!(kept(step(&release)).as_deref(), Some("forced"), "by who resumes it");
    let again = Step { accepted_risks: Some("forced again"), ..step(&release) };
    assert_eq!(kept(again).as_deref(), Some("forced again"));
}

#[test]
fn a_release_without_an_image_is_none() {
    assert_eq!(history(&[step(&Release::default())]), []);
}

#[test]
fn which_releases_are_the_same() {
    let entry = |version: &str, image: &str| UpdateHistory {
        version: Some(version.to_owned()).filter(|version| !version.is_empty()),
        image: image.to_owned(),
        ..UpdateHistory::default()
    };
    let release = |version: &str, image: &str| Release {
        version: version.to_owned(),
        image: image.to_owned(),
        ..Release::default()
    };
    for (before, desired, after) in [
        // The same, and what was missing is filled in.
        (("5.0.0", "a"), ("5.0.0", "a"), Some(("5.0.0", "a"))),
        (("", "a"), ("5.0.0", "a"), Some(("5.0.0", "a"))),
        (("5.0.0", "a"), ("", "a"), Some(("5.0.0", "a"))),
        (("", "a"), ("", "a"), Some(("", "a"))),
        (("5.0.0", ""), ("5.0.0", "a"), Some(("5.0.0", "a"))),
        // Another one.
        (("5.0.0", "a"), ("5.0.1", "a"), None),
        (("5.0.0", "a"), ("5.0.0", "b"), None),
        (("5.0.0", "a"), ("5.0.1", "b"), None),
        (("", "a"), ("5.0.0", "b"), None),
        (("5.0.0", "a"), ("", "b"), None),
        (("5.0.0", ""), ("", "a"), None),
        (("", ""), ("", "a"), None),
    ] {
        let mut history = vec![entry(before.0, before.1)];
        record(&mut history, &step(&release(desired.0, desired.1)), at(0));
        let newest = (history[0].version.as_deref().unwrap_or_default(), &*history[0].image);
        let case = format!("{before:?} {desired:?}");
        assert_eq!(history.len(), if after.is_some() { 1 } else { 2 }, "{case}");
        assert_eq!(newest, after.unwrap_or(desired), "{case}");
    }
}

/// An entry as `C 5.0.1` (completed) or `P 5.0.1` (partial).
fn entry(text: &str) -> UpdateHistory {
    let (state, version) = text.split_once(' ').unwrap();
    let state = if state == "C" { UpdateState::Completed } else { UpdateState::Partial };
    UpdateHistory { state, version: Some(version.to_owned()), ..UpdateHistory::default() }
}

/// The place and the text of what goes when `special` entries are put into a history that is
/// otherwise made of completed patches of one minor version and has one entry too many.
fn gone(special: &[(usize, &str)]) -> (usize, String) {
    let mut texts = vec!["C 5.5.5".to_owned(); MOST + 1];
    for (place, text) in special {
        texts[*place] = (*text).to_owned();
    }
    let named =
        |(place, text): (usize, &String)| UpdateHistory { image: place.to_string(), ..entry(text) };
    let before: Vec<UpdateHistory> = texts.iter().enumerate().map(named).collect();
    let mut after = before.clone();
    prune(&mut after);
    assert_eq!(after.len(), MOST);
    let place = before.iter().zip(&after).position(|(before, after)| before != after);
    let place = place.unwrap_or(MOST);
    assert_eq!(before[place + 1..], after[place..], "only one goes");
    (place, texts[place].clone())
}

#[test]
fn the_oldest_of_equals_goes_but_never_the_very_first() {
    assert_eq!(gone(&[]), (99, "C 5.5.5".to_owned()));
}

#[test]
fn what_goes_first() {
    for (what, special, expected) in [
        ("what stands at the border of a minor version stays", &[(99, "C 5.4.9")][..], 97),
        ("and what was tried on the way there", &[(98, "P 5.5.0"), (99, "C 5.4.9")][..], 96),
        ("but not for ever", &[(59, "C 5.4.9"), (60, "C 5.4.8"), (61, "C 5.4.7")][..], 99),
        ("what was tried between two patches goes", &[(90, "P 5.5.4"), (91, "C 5.5.3")][..], 90),
        (
            "and the older of two",
            &[(84, "P 5.5.4"), (85, "C 5.5.3"), (86, "P 5.5.2"), (87, "C 5.5.1")][..],
            86,
        ),
        ("but not before what is much older", &[(40, "P 5.5.4"), (41, "C 5.5.3")][..], 99),
        ("nor what is new", &[(4, "P 5.5.6"), (3, "C 5.5.7")][..], 99),
        ("what was tried for the same patch is worth as much", &[(90, "P 5.5.6")][..], 99),
    ] {
        assert_eq!(gone(special).0, expected, "{what}");
    }
}

#[test]
fn the_newest_completed_stays_however_old_it_is() {
    let mut attempts: Vec<(usize, &str)> = (0..99).map(|place| (place, "P 5.6.0")).collect();
    attempts.push((99, "C 5.5.5"));
    assert_eq!(gone(&attempts).0, 98);
}

#[test]
fn what_was_overridden_is_cut_where_all_of_it_is_too_long() {
    let text = "é".repeat(30_000);
    let entry = UpdateHistory { accepted_risks: Some(text), ..UpdateHistory::default() };
    let mut history = vec![entry; 50];
    super::shorten(&mut history);
    let lengths: Vec<usize> =
        history.iter().map(|entry| entry.accepted_risks.as_ref().unwrap().len()).collect();
    assert_eq!(lengths[..4], [60_000, 60_000, 11_071, 511]);
    assert!(lengths.iter().sum::<usize>() < 160 << 10);
    let before = history.clone();
    super::shorten(&mut history);
    assert_eq!(history, before, "what was cut once is not cut again");
}

proptest! {
    #[test]
    fn no_history_is_too_long_and_what_counts_stays(
        versions in prop::collection::vec((any::<bool>(), 0..4u8, 0..4u8), 1..250),
    ) {
        let text = |(completed, minor, patch): &(bool, u8, u8)| {
            format!("{} 5.{minor}.{patch}", if *completed { "C" } else { "P" })
        };
        let named = |(place, text): (usize, String)| UpdateHistory {
            image: place.to_string(),
            ..entry(&text)
        };
        let before: Vec<UpdateHistory> =
            versions.iter().map(text).enumerate().map(named).collect();
        let mut after = before.clone();
        prune(&mut after);
        prop_assert_eq!(after.len(), before.len().min(MOST));
        prop_assert_eq!(after.last(), before.last());
        prop_assert_eq!(after.first(), before.first());
        let completed = |history: &[UpdateHistory]| {
            history.iter().find(|entry| entry.state == UpdateState::Completed).cloned()
        };
        prop_assert_eq!(completed(&after), completed(&before));
        prop_assert!(after.iter().all(|entry| before.contains(entry)));
    }
}
