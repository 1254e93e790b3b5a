//! The history: the releases that the cluster has had, the newest first.

mod prune;
#[cfg(test)]
mod tests;

use fairway_api::cluster_version::{Release, UpdateHistory, UpdateState};
use fairway_api::condition::wire_time;
use jiff::Timestamp;

use prune::prune;

/// Bytes for all that was ever overridden: a status has room for that beside the updates.
const ROOM: usize = 128 << 10;

/// Bytes of one such text that stay whatever the others are.
const LEAST: usize = 512;

/// What there is to remember about the release that is rolled out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub(super) release: &'a Release,
    /// Whether its signature was verified.
    pub(super) verified: bool,
    /// What was overridden for it.
    pub(super) accepted_risks: Option<&'a str>,
    /// Whether all of it was in place.
    pub(super) completed: bool,
}

/// Remembers it. What was once said to be verified or completed stays so.
pub(super) fn record(history: &mut Vec<UpdateHistory>, step: &Step, now: Timestamp) {
    if step.release.image.is_empty() {
        return;
    }
    if !history.first().is_some_and(|newest| is_of(newest, step.release)) {
        begin(history, now);
    }
    let Some(newest) = history.first_mut() else { return };
    fill_in(newest, step.release);
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

/// Whether an entry is about a release. Who does not know the version, or the image, of one of
/// them goes by the other.
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

/// Ends the newest entry as it is, and begins another.
fn begin(history: &mut Vec<UpdateHistory>, now: Timestamp) {
    if let Some(newest) = history.first_mut() {
        newest.completion_time.get_or_insert_with(|| wire_time(now));
    }
    let entry = UpdateHistory { started_time: Some(wire_time(now)), ..UpdateHistory::default() };
    history.insert(0, entry);
}

fn fill_in(entry: &mut UpdateHistory, release: &Release) {
    if entry.image.is_empty() {
        entry.image.clone_from(&release.image);
    }
    if version_of(entry).is_empty() && !release.version.is_empty() {
        entry.version = Some(release.version.clone());
    }
}

/// Cuts what was overridden long ago, where all of it together is too long.
fn shorten(history: &mut [UpdateHistory]) {
    let mut room = ROOM;
    for text in history.iter_mut().filter_map(|entry| entry.accepted_risks.as_mut()) {
        *text = fairway_text::fit(text, room.max(LEAST)).into_owned();
        room = room.saturating_sub(text.len());
    }
}
