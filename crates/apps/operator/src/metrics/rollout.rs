//! Metrics of the rollout.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fairway_release::ObjectId;

use super::{Family, Samples};
use crate::sync::lock;

/// Metrics of the stage `rollout`, about one release at a time.
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
    /// Starts the metrics of a version.
    pub fn begin(&self, version: &str) {
        let mut counts = lock(&self.0);
        if counts.as_ref().is_none_or(|counts| counts.version != version) {
            *counts = Some(Counts { version: version.to_owned(), ..Counts::default() });
        }
    }

    /// Sets the number of reconciled manifests.
    pub fn counted(&self, done: usize, total: usize) {
        if let Some(counts) = &mut *lock(&self.0) {
            (counts.done, counts.total) = (done, total);
        }
    }

    /// An apply failed; it is retried.
    pub fn failed(&self) {
        if let Some(counts) = &mut *lock(&self.0) {
            counts.errors = counts.errors.saturating_add(1);
        }
    }

    /// Sets the number of drift corrections of an object with contention.
    pub fn contended(&self, id: &ObjectId, repairs: u32) {
        if let Some(counts) = &mut *lock(&self.0) {
            counts.contended.insert(id.clone(), repairs);
        }
    }

    pub(super) fn families(&self) -> Vec<Family> {
        let Some(Counts { version, done, total, errors, contended }) = &*lock(&self.0) else {
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
    fn families_are_about_one_release() {
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
