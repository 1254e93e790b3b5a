//! Somebody else who writes the same ClusterOperator, and wants it otherwise.

use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_backoff::Backoff;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::ResourceExt as _;
use tokio::time::Instant;

/// The delay after a repair. It doubles with each repair, so that a conflict with another writer
/// does not load the API server.
const REPAIR_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_mins(5) };
/// After this time without a repair, the next one is at once again.
const QUIET: Duration = Duration::from_mins(10);
/// So many repairs without a quiet time are no accident.
const FIGHT: u32 = 5;

/// How often what somebody else wrote was put right: the first time at once, then with growing
/// pauses.
#[derive(Debug, Default)]
pub(super) struct Rivalry {
    latest: Option<Instant>,
    repairs: u32,
}

impl Rivalry {
    /// From when on the next repair may be.
    pub(super) fn next_repair(&self, now: Instant) -> Instant {
        let Some(latest) = self.latest.filter(|_| !self.is_over(now)) else { return now };
        latest + REPAIR_BACKOFF.after(self.repairs)
    }

    /// It was put right. How often, if that is a fight.
    pub(super) fn repaired(&mut self, now: Instant) -> Option<u32> {
        let before = if self.is_over(now) { 0 } else { self.repairs };
        (self.latest, self.repairs) = (Some(now), before.saturating_add(1));
        self.is_fight().then_some(self.repairs)
    }

    /// When a fight is over, if nothing happens until then.
    pub(super) fn peace(&self) -> Option<Instant> {
        self.latest.filter(|_| self.is_fight()).map(|latest| latest + QUIET)
    }

    /// Forgets a fight that is over; whether there was one.
    pub(super) fn made_peace(&mut self, now: Instant) -> bool {
        let is_peace = self.peace().is_some_and(|peace| peace <= now);
        if is_peace {
            *self = Self::default();
        }
        is_peace
    }

    fn is_fight(&self) -> bool {
        self.repairs >= FIGHT
    }

    fn is_over(&self, now: Instant) -> bool {
        self.latest.is_none_or(|latest| now.saturating_duration_since(latest) >= QUIET)
    }
}

/// Who wrote the status last, other than the guard.
pub(super) fn rival_of(object: &ClusterOperator, own: &str) -> Option<String> {
    // Old API servers do not say that it was the status that was written, but which fields were.
    let has_status = |it: &&ManagedFieldsEntry| {
        it.fields_v1.as_ref().is_some_and(|fields| fields.0.get("f:status").is_some())
    };
    let others = object.managed_fields().iter().filter(has_status);
    let others = others.filter(|it| it.manager.as_deref() != Some(own));
    let latest = others.max_by_key(|it| it.time.as_ref().map(|time| time.0))?;
    latest.manager.clone()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// After how many seconds it is put right, if somebody changes it again at once.
    fn pauses(rivalry: &mut Rivalry, mut now: Instant, times: usize) -> (Vec<u64>, Instant) {
        let mut pauses = Vec::new();
        for _ in 0..times {
            let next = rivalry.next_repair(now);
            pauses.push((next - now).as_secs());
            now = next;
            rivalry.repaired(now);
        }
        (pauses, now)
    }

    #[test]
    fn the_first_repair_is_at_once_and_the_next_ones_take_longer_and_longer() {
        let (mut rivalry, now) = (Rivalry::default(), Instant::now());
        let (of_a_fight, later) = pauses(&mut rivalry, now, 12);
        assert_eq!(of_a_fight, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        let (after_quiet, _) = pauses(&mut rivalry, later + QUIET, 3);
        assert_eq!(after_quiet, [0, 1, 2]);
    }

    #[test]
    fn a_fight_is_named_until_it_is_over() {
        let (mut rivalry, now) = (Rivalry::default(), Instant::now());
        let told: Vec<_> = (0..6).map(|_| rivalry.repaired(now)).collect();
        assert_eq!(told, [None, None, None, None, Some(5), Some(6)]);
        assert_eq!(rivalry.peace(), Some(now + QUIET));
        assert!(!rivalry.made_peace(now + QUIET / 2));
        assert!(rivalry.made_peace(now + QUIET));
        assert!(rivalry.peace().is_none() && !rivalry.made_peace(now + QUIET));
    }

    #[test]
    fn the_rival_is_who_wrote_the_status_last() {
        let entry = |manager: &str, field: &str, minute: u8| {
            json!({
                "manager": manager, "operation": "Update", "fieldsV1": { field: {} },
                "time": format!("2026-01-01T00:{minute:02}:00Z"),
            })
        };
        let rival = |fields: &[serde_json::Value]| {
            let object = json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
                "metadata": { "name": "olm", "managedFields": fields }, "spec": {},
            });
            rival_of(&serde_json::from_value(object).unwrap(), "own")
        };
        assert_eq!(rival(&[]), None);
        assert_eq!(rival(&[entry("own", "f:status", 9), entry("labeller", "f:metadata", 8)]), None);
        let fields =
            [entry("old", "f:status", 1), entry("olm", "f:status", 5), entry("own", "f:status", 9)];
        assert_eq!(rival(&fields).as_deref(), Some("olm"));
    }
}
