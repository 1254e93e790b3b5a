//! Which entries of a history go when there are too many.
//!
//! What tells how the cluster came here stays: where it began, where it was last, and how it went
//! from one minor version to the next. Attempts between two patch releases go first, and of equals
//! the older.

use std::collections::BTreeSet;

use fairway_api::cluster_version::{UpdateHistory, UpdateState};

/// How many entries are kept: with all there is to say about each, a tenth of what a status may have.
pub(super) const MOST: usize = 100;

/// The newest entries, which stay whatever they are.
const LATEST: usize = 5;

/// The first or last release of a minor version that was reached.
const MILESTONE: i64 = 3_000;
/// A release that was tried on the way from one minor version to another.
const ON_THE_WAY: i64 = 2_000;
/// A release that was tried between two patch releases.
const DETOUR: i64 = -2_000;
/// What a place further back costs: a milestone is worth as much as a usual entry that is 30 places
/// newer.
const PLACE: i64 = 101;

/// Takes away what is least worth keeping, until there are not too many.
pub(super) fn prune(history: &mut Vec<UpdateHistory>) {
    let excess = history.len().saturating_sub(MOST);
    if excess == 0 {
        return;
    }
    let mut places: Vec<usize> = (0..history.len()).collect();
    places.sort_by_cached_key(|place| worth(history, *place));
    let gone: BTreeSet<usize> = places.into_iter().take(excess).collect();
    let mut place = 0..;
    history.retain(|_| place.next().is_none_or(|place| !gone.contains(&place)));
}

/// How much an entry is worth keeping; nothing is worth more than what has to stay.
fn worth(history: &[UpdateHistory], place: usize) -> i64 {
    let (newer, entry, older) = (&history[..place], &history[place], &history[place + 1..]);
    let is_oldest = older.is_empty();
    let newer = newer.iter().rfind(|entry| is_completed(entry));
    let older = older.iter().find(|entry| is_completed(entry));
    let is_last_completed = is_completed(entry) && newer.is_none();
    if is_oldest || place < LATEST || is_last_completed {
        return i64::MAX;
    }
    let differs =
        |other: Option<&UpdateHistory>| other.is_none_or(|other| minor(other) != minor(entry));
    let kind = match (is_completed(entry), newer, older) {
        (true, newer, older) if differs(newer) || differs(older) => MILESTONE,
        (false, Some(newer), Some(older)) if minor(newer) != minor(older) => ON_THE_WAY,
        (false, Some(newer), Some(older)) if patch(newer) != patch(older) => DETOUR,
        _ => 0,
    };
    let places = i64::try_from(place).unwrap_or(i64::MAX);
    kind.saturating_sub(places.saturating_mul(PLACE))
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

/// The beginning of a version, up to so many of its pieces.
fn pieces(entry: &UpdateHistory, count: usize) -> Option<&str> {
    let version = entry.version.as_deref()?;
    let end = version.match_indices('.').nth(count - 1);
    Some(end.map_or(version, |(end, _)| &version[..end]))
}
