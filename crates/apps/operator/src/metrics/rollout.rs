//! What the stage that rolls out releases counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairway_release::ObjectId;

use super::family::{Family, Samples};

/// What the stage that rolls out releases counts. Everything is about one release at a time.
#[derive(Clone, Default)]
pub struct Rollout(Arc<Mutex<Option<Counts>>>);

#[derive(Default)]
struct Counts {
    version: String,
    done: usize,
    total: usize,
    errors: u32,
    contended: BTreeMap<ObjectId, u32>,
}

impl Rollout {
    /// From now on, it is about that version.
    pub fn begin(&self, version: &str) {
        let mut counts = self.lock();
        if counts.as_ref().is_none_or(|counts| counts.version != version) {
            *counts = Some(Counts { version: version.to_owned(), ..Counts::default() });
        }
    }

    /// So many of its manifests are in place.
    pub fn counted(&self, done: usize, total: usize) {
        if let Some(counts) = &mut *self.lock() {
            (counts.done, counts.total) = (done, total);
        }
    }

    /// A manifest could not be applied; it is tried again.
    pub fn failed(&self) {
        if let Some(counts) = &mut *self.lock() {
            counts.errors = counts.errors.saturating_add(1);
        }
    }

    /// Somebody else changes an object again and again, and so often it was repaired.
    pub fn contended(&self, id: &ObjectId, repairs: u32) {
        if let Some(counts) = &mut *self.lock() {
            counts.contended.insert(id.clone(), repairs);
        }
    }

    /// No code of others runs under the lock, so a poisoned one guards whole values.
    fn lock(&self) -> MutexGuard<'_, Option<Counts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn families(&self) -> Vec<Family> {
        let Some(Counts { version, done, total, errors, contended }) = &*self.lock() else {
            return Vec::new();
        };
        let labels = |type_| [("version", version.as_str()), ("type", type_)];
        let mut objects = Samples::default();
        for (ObjectId { group, kind, namespace, name }, repairs) in contended {
            let labels = [
                ("group", group.as_str()),
                ("kind", kind.as_str()),
                ("namespace", namespace.as_str()),
                ("name", name.as_str()),
            ];
            objects.add(labels, f64::from(*repairs));
        }
        vec![
            Family::new(
                "cluster_version_payload",
                "Manifests of the release, pending and applied",
                Samples::default()
                    .with(labels("pending"), count(total.saturating_sub(*done)))
                    .with(labels("applied"), count(*done)),
            ),
            Family::new(
                "cluster_operator_payload_errors",
                "Failed attempts to apply manifests of the release",
                Samples::default().with([("version", version)], f64::from(*errors)),
            ),
            Family::new(
                "fairway_operator_contended_objects",
                "Drift corrections of managed objects that another client repeatedly changes",
                objects,
            ),
        ]
    }
}

#[expect(clippy::cast_precision_loss, reason = "a release has thousands of manifests at most")]
fn count(manifests: usize) -> f64 {
    manifests as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_about_one_release() {
        let rollout = Rollout::default();
        rollout.counted(1, 2);
        assert_eq!(rollout.families(), []);
        rollout.begin("5.0.0");
        rollout.failed();
        rollout.begin("5.1.0");
        rollout.counted(3, 10);
        rollout.failed();
        rollout.failed();
        rollout.begin("5.1.0");
        let id =
            ObjectId { kind: "Secret".to_owned(), name: "a".to_owned(), ..ObjectId::default() };
        rollout.contended(&id, 5);
        rollout.contended(&id, 6);
        let text: Vec<String> = rollout.families().iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(text.concat(), @r#"
        cluster_version_payload{version="5.1.0",type="applied"} 3
        cluster_version_payload{version="5.1.0",type="pending"} 7
        cluster_operator_payload_errors{version="5.1.0"} 2
        fairway_operator_contended_objects{group="",kind="Secret",namespace="",name="a"} 6
        "#);
    }
}
