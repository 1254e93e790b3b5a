//! The history of releases, the newest first, with a limit on its length.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{Release, UpdateHistory, UpdateState};
use fairway_api::condition::wire_time;
use jiff::Timestamp;

/// Maximum bytes of all texts about overridden risks: a status has room for them beside the updates.
const MAX_RISKS_BYTES: usize = 128 << 10;

/// Bytes of one such text that are always kept.
const MIN_RISKS_BYTES: usize = 512;

/// State of the target release for the history.
#[derive(Clone, Copy, Debug)]
pub(super) struct HistoryUpdate<'a> {
    pub(super) release: &'a Release,
    /// Whether its signature was verified.
    pub(super) verified: bool,
    /// What was overridden to accept it.
    pub(super) accepted_risks: Option<&'a str>,
    /// Whether its rollout is complete.
    pub(super) completed: bool,
}

/// Updates the newest entry or adds one. `verified` and `Completed` are never reset.
pub(super) fn record(history: &mut Vec<UpdateHistory>, step: &HistoryUpdate, now: Timestamp) {
    if step.release.image.is_empty() {
        return;
    }
    if !history.first().is_some_and(|newest| is_of(newest, step.release)) {
        add_entry(history, now);
    }
    let Some(newest) = history.first_mut() else { return };
    complete_entry(newest, step.release);
    newest.verified |= step.verified;
    if let Some(risks) = step.accepted_risks {
        newest.accepted_risks = Some(risks.to_owned());
    }
    if step.completed {
        newest.state = UpdateState::Completed;
        newest.completion_time.get_or_insert_with(|| wire_time(now));
    }
    prune(history);
    shorten(history);
}

/// Whether an entry is about a release. If the version or image of one is unknown, the other
/// decides.
fn is_of(entry: &UpdateHistory, release: &Release) -> bool {
    let version = version_of(entry);
    let same_image = entry.image == release.image;
    let same_version = version == release.version;
    let version_unknown = version.is_empty() || release.version.is_empty();
    same_image && (same_version || version_unknown)
        || same_version && !version_unknown && entry.image.is_empty()
}

fn version_of(entry: &UpdateHistory) -> &str {
    entry.version.as_deref().unwrap_or_default()
}

/// Ends the newest entry and adds another.
fn add_entry(history: &mut Vec<UpdateHistory>, now: Timestamp) {
    if let Some(newest) = history.first_mut() {
        newest.completion_time.get_or_insert_with(|| wire_time(now));
    }
    let entry = UpdateHistory { started_time: Some(wire_time(now)), ..UpdateHistory::default() };
    history.insert(0, entry);
}

fn complete_entry(entry: &mut UpdateHistory, release: &Release) {
    if entry.image.is_empty() {
        entry.image.clone_from(&release.image);
    }
    if version_of(entry).is_empty() && !release.version.is_empty() {
        entry.version = Some(release.version.clone());
    }
}

/// Truncates the texts of old entries if all together are too long.
fn shorten(history: &mut [UpdateHistory]) {
    let mut room = MAX_RISKS_BYTES;
    for text in history.iter_mut().filter_map(|entry| entry.accepted_risks.as_mut()) {
        *text = fairway_text::fit(text, room.max(MIN_RISKS_BYTES)).into_owned();
        room = room.saturating_sub(text.len());
    }
}

/// Maximum number of entries: with all fields, a tenth of the maximum size of a status.
const MAX_ENTRIES: usize = 100;

/// Number of the newest entries, which are always kept.
const ALWAYS_KEPT: usize = 5;

/// Score of the first or last completed release of a minor version.
const MILESTONE: i64 = 3_000;
/// Score of a partial update between two minor versions.
const PARTIAL_MINOR: i64 = 2_000;
/// Score of a partial update between two patch releases.
const PARTIAL_PATCH: i64 = -2_000;
/// Score per position: a milestone has the score of a usual entry that is 30 positions newer.
const POSITION: i64 = 101;

/// Removes the entries with the lowest score above the maximum. The entries that show the upgrade
/// path stay: the first, the last, and the updates between minor versions. The Go operator prunes in
/// the same order (`pkg/cvo/status_history.go`).
fn prune(history: &mut Vec<UpdateHistory>) {
    let excess = history.len().saturating_sub(MAX_ENTRIES);
    if excess == 0 {
        return;
    }
    let mut positions: Vec<usize> = (0..history.len()).collect();
    positions.sort_by_cached_key(|position| score(history, *position));
    let removed: BTreeSet<usize> = positions.into_iter().take(excess).collect();
    let mut position = 0..;
    history.retain(|_| position.next().is_none_or(|position| !removed.contains(&position)));
}

/// Score of an entry; `i64::MAX` for entries that are always kept.
fn score(history: &[UpdateHistory], position: usize) -> i64 {
    let (newer, entry, older) =
        (&history[..position], &history[position], &history[position + 1..]);
    let is_oldest = older.is_empty();
    let newer = newer.iter().rfind(|entry| is_completed(entry));
    let older = older.iter().find(|entry| is_completed(entry));
    let is_last_completed = is_completed(entry) && newer.is_none();
    if is_oldest || position < ALWAYS_KEPT || is_last_completed {
        return i64::MAX;
    }
    let differs =
        |other: Option<&UpdateHistory>| other.is_none_or(|other| minor(other) != minor(entry));
    let kind = match (is_completed(entry), newer, older) {
        (true, newer, older) if differs(newer) || differs(older) => MILESTONE,
        (false, Some(newer), Some(older)) if minor(newer) != minor(older) => PARTIAL_MINOR,
        (false, Some(newer), Some(older)) if patch(newer) != patch(older) => PARTIAL_PATCH,
        _ => 0,
    };
    let positions = i64::try_from(position).unwrap_or(i64::MAX);
    kind.saturating_sub(positions.saturating_mul(POSITION))
}

fn is_completed(entry: &UpdateHistory) -> bool {
    entry.state == UpdateState::Completed
}

fn minor(entry: &UpdateHistory) -> Option<&str> {
    pieces(entry, 2)
}

fn patch(entry: &UpdateHistory) -> Option<&str> {
    pieces(entry, 3)
}

/// The first components of a version.
fn pieces(entry: &UpdateHistory, count: usize) -> Option<&str> {
    let version = entry.version.as_deref()?;
    let end = version.match_indices('.').nth(count - 1);
    Some(end.map_or(version, |(end, _)| &version[..end]))
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::{Release, UpdateHistory, UpdateState};
    use fairway_testkit::objects;
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use proptest::prelude::*;

    use super::{HistoryUpdate, record};
    use super::{MAX_ENTRIES, prune};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_767_225_600 + second).unwrap()
    }

    fn step(release: &Release) -> HistoryUpdate<'_> {
        HistoryUpdate { release, verified: false, accepted_risks: None, completed: false }
    }

    /// The history after steps that are ten seconds apart.
    fn history(steps: &[HistoryUpdate]) -> Vec<UpdateHistory> {
        let mut history = Vec::new();
        for (second, step) in (0..).step_by(10).zip(steps) {
            record(&mut history, step, at(second));
        }
        history
    }

    /// Each entry as one line: state, version, start and end.
    fn text(history: &[UpdateHistory]) -> String {
        let time = |time: &Option<Time>| {
            time.as_ref().map_or("…".to_owned(), |time| {
                (time.0.as_second() - at(0).as_second()).to_string()
            })
        };
        let line = |entry: &UpdateHistory| {
            let version = entry.version.as_deref().unwrap_or("-");
            let (began, ended) = (time(&entry.started_time), time(&entry.completion_time));
            format!("{} {version} {began}–{ended}", entry.state)
        };
        history.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn record_installation_and_update() {
        let (first, second) = (objects::release("5.0.0"), objects::release("5.0.1"));
        let steps = [
            step(&first),
            step(&first),
            HistoryUpdate { completed: true, ..step(&first) },
            step(&first),
            step(&second),
            HistoryUpdate { completed: true, ..step(&second) },
            HistoryUpdate { completed: true, ..step(&second) },
        ];
        insta::assert_snapshot!(text(&history(&steps)), @"
        Completed 5.0.1 40–50
        Completed 5.0.0 0–20
        ");
    }

    #[test]
    fn record_ends_partial_update() {
        let [first, second, third] = ["5.0.0", "5.0.1", "5.0.2"].map(objects::release);
        let steps = [
            HistoryUpdate { completed: true, ..step(&first) },
            step(&second),
            step(&third),
            HistoryUpdate { completed: true, ..step(&first) },
        ];
        insta::assert_snapshot!(text(&history(&steps)), @"
        Completed 5.0.0 30–30
        Partial 5.0.2 20–30
        Partial 5.0.1 10–20
        Completed 5.0.0 0–0
        ");
    }

    #[test]
    fn record_never_resets_verified() {
        let release = objects::release("5.0.0");
        let steps =
            [step(&release), HistoryUpdate { verified: true, ..step(&release) }, step(&release)];
        assert!(history(&steps)[0].verified);
    }

    #[test]
    fn record_keeps_accepted_risks() {
        let release = objects::release("5.0.1");
        let overridden = HistoryUpdate { accepted_risks: Some("forced"), ..step(&release) };
        let kept = |last: HistoryUpdate| history(&[overridden, last])[0].accepted_risks.clone();
        assert_eq!(kept(step(&release)).as_deref(), Some("forced"), "after a restart");
        let again = HistoryUpdate { accepted_risks: Some("forced again"), ..step(&release) };
        assert_eq!(kept(again).as_deref(), Some("forced again"));
    }

    #[test]
    fn record_without_image_adds_nothing() {
        assert_eq!(history(&[step(&Release::default())]), []);
    }

    #[test]
    fn record_matches_entry_by_image_and_version() {
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
            // The same release; missing values are added.
            (("5.0.0", "a"), ("5.0.0", "a"), Some(("5.0.0", "a"))),
            (("", "a"), ("5.0.0", "a"), Some(("5.0.0", "a"))),
            (("5.0.0", "a"), ("", "a"), Some(("5.0.0", "a"))),
            (("", "a"), ("", "a"), Some(("", "a"))),
            (("5.0.0", ""), ("5.0.0", "a"), Some(("5.0.0", "a"))),
            // Another release.
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

    /// Position and text of the removed entry, if `special` entries replace those of a history of
    /// completed patch releases that has one entry too many.
    fn removed(special: &[(usize, &str)]) -> (usize, String) {
        let mut texts = vec!["C 5.5.5".to_owned(); MAX_ENTRIES + 1];
        for (position, text) in special {
            texts[*position] = (*text).to_owned();
        }
        let named = |(position, text): (usize, &String)| UpdateHistory {
            image: position.to_string(),
            ..entry(text)
        };
        let before: Vec<UpdateHistory> = texts.iter().enumerate().map(named).collect();
        let mut after = before.clone();
        prune(&mut after);
        assert_eq!(after.len(), MAX_ENTRIES);
        let position = before.iter().zip(&after).position(|(before, after)| before != after);
        let position = position.unwrap_or(MAX_ENTRIES);
        assert_eq!(before[position + 1..], after[position..], "only one entry is removed");
        (position, texts[position].clone())
    }

    #[test]
    fn prune_of_equal_entries_removes_oldest_but_first() {
        assert_eq!(removed(&[]), (99, "C 5.5.5".to_owned()));
    }

    #[test]
    fn prune_removes_lowest_score() {
        for (what, special, expected) in [
            ("a milestone stays", &[(99, "C 5.4.9")][..], 97),
            ("and a partial update before it", &[(98, "P 5.5.0"), (99, "C 5.4.9")][..], 96),
            ("but not for ever", &[(59, "C 5.4.9"), (60, "C 5.4.8"), (61, "C 5.4.7")][..], 99),
            ("a partial patch update is removed", &[(90, "P 5.5.4"), (91, "C 5.5.3")][..], 90),
            (
                "the older of two",
                &[(84, "P 5.5.4"), (85, "C 5.5.3"), (86, "P 5.5.2"), (87, "C 5.5.1")][..],
                86,
            ),
            ("but not before much older entries", &[(40, "P 5.5.4"), (41, "C 5.5.3")][..], 99),
            ("nor a new entry", &[(4, "P 5.5.6"), (3, "C 5.5.7")][..], 99),
            ("a partial update of the same patch has no penalty", &[(90, "P 5.5.6")][..], 99),
        ] {
            assert_eq!(removed(special).0, expected, "{what}");
        }
    }

    #[test]
    fn prune_keeps_newest_completed() {
        let mut attempts: Vec<(usize, &str)> =
            (0..99).map(|position| (position, "P 5.6.0")).collect();
        attempts.push((99, "C 5.5.5"));
        assert_eq!(removed(&attempts).0, 98);
    }

    #[test]
    fn shorten_truncates_old_texts() {
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
        assert_eq!(history, before, "a truncated text stays the same");
    }

    proptest! {
        #[test]
        fn prune_keeps_limit_and_ends(
            versions in prop::collection::vec((any::<bool>(), 0..4u8, 0..4u8), 1..250),
        ) {
            let text = |(completed, minor, patch): &(bool, u8, u8)| {
                format!("{} 5.{minor}.{patch}", if *completed { "C" } else { "P" })
            };
            let named = |(position, text): (usize, String)| UpdateHistory {
                image: position.to_string(),
                ..entry(&text)
            };
            let before: Vec<UpdateHistory> =
                versions.iter().map(text).enumerate().map(named).collect();
            let mut after = before.clone();
            prune(&mut after);
            prop_assert_eq!(after.len(), before.len().min(MAX_ENTRIES));
            prop_assert_eq!(after.last(), before.last());
            prop_assert_eq!(after.first(), before.first());
            let completed = |history: &[UpdateHistory]| {
                history.iter().find(|entry| entry.state == UpdateState::Completed).cloned()
            };
            prop_assert_eq!(completed(&after), completed(&before));
            prop_assert!(after.iter().all(|entry| before.contains(entry)));
        }
    }
}
