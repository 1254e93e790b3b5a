//! When a kept object that somebody changed is repaired.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_backoff::Backoff;
use fairway_release::ObjectId;
use tokio::time::Instant;

/// The delay after a repair. Its maximum limits the load when another client keeps changing an object.
const REPAIR_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_mins(5) };
/// After this time without a repair, the next one is at once again.
const QUIET: Duration = Duration::from_mins(10);
/// So many repairs without a quiet time are no accident.
const FIGHT: u32 = 5;

/// Says when objects are repaired: the first time at once, then with growing pauses.
///
/// It is told of every change, whoever made it and whatever it was: looking is free, and what
/// turns out to be right was no repair.
#[derive(Debug, Default)]
pub struct Keeper {
    objects: BTreeMap<ObjectId, Repairs>,
}

#[derive(Debug, Default)]
struct Repairs {
    due: Option<Instant>,
    latest: Option<Instant>,
    count: u32,
}

impl Repairs {
    /// From when on it may be repaired.
    fn from(&self) -> Option<Instant> {
        let is_first = self.count == 0;
        Some(self.latest.filter(|_| !is_first)? + REPAIR_BACKOFF.after(self.count))
    }

    fn is_quiet(&self, now: Instant) -> bool {
        self.latest.is_none_or(|latest| now.saturating_duration_since(latest) >= QUIET)
    }
}

impl Keeper {
    /// The object changed or vanished.
    pub fn noticed(&mut self, id: ObjectId, now: Instant) {
        self.objects.retain(|_, repairs| repairs.due.is_some() || !repairs.is_quiet(now));
        let repairs = self.objects.entry(id).or_default();
        if repairs.is_quiet(now) {
            repairs.count = 0;
        }
        let from = repairs.from().map_or(now, |from| from.max(now));
        repairs.due = Some(repairs.due.map_or(from, |due| due.min(from)));
    }

    /// What is to be looked at now, each once.
    pub fn due(&mut self, now: Instant) -> Vec<ObjectId> {
        let due = self
            .objects
            .iter_mut()
            .filter(|(_, repairs)| repairs.due.is_some_and(|due| due <= now));
        due.map(|(id, repairs)| {
            repairs.due = None;
            id.clone()
        })
        .collect()
    }

    /// When something will be due, if nothing changes.
    pub fn wake(&self) -> Option<Instant> {
        self.objects.values().filter_map(|repairs| repairs.due).min()
    }

    /// The object was not right and was written. If that happens again and again, somebody else
    /// wants it otherwise; how often it was repaired is returned then.
    pub fn repaired(&mut self, id: &ObjectId, now: Instant) -> Option<u32> {
        let repairs = self.count(id, now);
        (repairs >= FIGHT).then_some(repairs)
    }

    /// The object could not be repaired: it is tried again, with the same pauses.
    pub fn failed(&mut self, id: &ObjectId, now: Instant) {
        self.count(id, now);
        self.noticed(id.clone(), now);
    }

    fn count(&mut self, id: &ObjectId, now: Instant) -> u32 {
        let repairs = self.objects.entry(id.clone()).or_default();
        let before = if repairs.is_quiet(now) { 0 } else { repairs.count };
        repairs.latest = Some(now);
        repairs.count = before.saturating_add(1);
        repairs.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ObjectId {
        ObjectId { name: name.to_owned(), ..ObjectId::default() }
    }

    /// After how many seconds an object is repaired that somebody changes again at once.
    fn pauses(keeper: &mut Keeper, mut now: Instant, times: usize) -> (Vec<u64>, Instant) {
        let mut pauses = Vec::new();
        for _ in 0..times {
            keeper.noticed(id("a"), now);
            let due = keeper.wake().expect("something is due");
            pauses.push((due - now).as_secs());
            now = due;
            assert_eq!(keeper.due(now), [id("a")]);
            keeper.repaired(&id("a"), now);
        }
        (pauses, now)
    }

    #[test]
    fn the_first_repair_is_at_once_and_the_next_ones_take_longer_and_longer() {
        let (mut keeper, now) = (Keeper::default(), Instant::now());
        let (pauses_of_a_fight, later) = pauses(&mut keeper, now, 12);
        assert_eq!(pauses_of_a_fight, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(keeper.wake(), None);
        keeper.noticed(id("b"), later);
        assert_eq!(keeper.due(later), [id("b")], "objects do not wait for each other");
        let (after_quiet, _) = pauses(&mut keeper, later + QUIET, 3);
        assert_eq!(after_quiet, [0, 1, 2]);
    }

    #[test]
    fn what_turns_out_to_be_right_was_no_repair() {
        let (mut keeper, now) = (Keeper::default(), Instant::now());
        for _ in 0..100 {
            keeper.noticed(id("a"), now);
            assert_eq!(keeper.due(now), [id("a")]);
        }
        keeper.noticed(id("b"), now + QUIET);
        assert_eq!(keeper.objects.len(), 1, "what is quiet is forgotten");
    }

    #[test]
    fn a_change_during_a_pause_waits_for_its_end_and_is_looked_at_once() {
        let (mut keeper, now) = (Keeper::default(), Instant::now());
        let (_, now) = pauses(&mut keeper, now, 3);
        for _ in 0..3 {
            keeper.noticed(id("a"), now);
        }
        assert_eq!(keeper.due(now), []);
        assert_eq!(keeper.due(now + Duration::from_secs(4)), [id("a")]);
        assert_eq!(keeper.due(now + Duration::from_secs(4)), []);
    }

    #[test]
    fn a_fight_is_named() {
        let (mut keeper, now) = (Keeper::default(), Instant::now());
        let told: Vec<_> = (0..7).map(|_| keeper.repaired(&id("a"), now)).collect();
        assert_eq!(told, [None, None, None, None, Some(5), Some(6), Some(7)]);
    }

    #[test]
    fn what_cannot_be_repaired_is_tried_again() {
        let (mut keeper, now) = (Keeper::default(), Instant::now());
        keeper.failed(&id("a"), now);
        assert_eq!(keeper.wake(), Some(now + REPAIR_BACKOFF.first));
        assert_eq!(keeper.due(now + REPAIR_BACKOFF.first), [id("a")]);
        keeper.failed(&id("a"), now + REPAIR_BACKOFF.first);
        assert_eq!(keeper.wake(), Some(now + REPAIR_BACKOFF.first * 3));
    }
}
