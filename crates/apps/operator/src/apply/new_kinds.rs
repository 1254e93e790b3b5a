//! Kinds that the operator has added to the cluster itself.
//!
//! They have no objects yet, so nothing is listed before the first is written. API servers refuse
//! watches of a new kind for a second, which would hold up every component that brings a CRD.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairway_release::Manifest;
use kube::discovery::ApiResource;
use serde_json::Value;

use super::discovery::served_kinds;

/// Kinds whose CRD this process has created, and which are not watched yet.
#[derive(Default)]
pub(super) struct NewKinds(Mutex<BTreeSet<KindKey>>);

/// Group, version and kind.
type KindKey = (String, String, String);

impl NewKinds {
    /// Notes the kinds of a CRD that was just applied, if the API server did not have it before:
    /// every CRD that it has processed once has conditions.
    pub(super) fn note(&self, crd: &Manifest, answer: &Value) {
        let conditions = answer["status"]["conditions"].as_array();
        if conditions.is_none_or(Vec::is_empty) {
            self.kinds().extend(served_kinds(crd).iter().map(|kind| key(&kind.resource)));
        }
    }

    /// Whether a kind is new. It is not after this, because its objects come next.
    pub(super) fn take(&self, resource: &ApiResource) -> bool {
        self.kinds().remove(&key(resource))
    }

    /// No code of others runs under the lock, so a poisoned one guards whole values.
    fn kinds(&self) -> MutexGuard<'_, BTreeSet<KindKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(resource: &ApiResource) -> KindKey {
    (resource.group.clone(), resource.version.clone(), resource.kind.clone())
}

#[cfg(test)]
mod tests {
    use fairway_testkit::releases;
    use kube::core::GroupVersionKind;
    use serde_json::json;

    use super::*;

    fn crd() -> Manifest {
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Cluster",
                "names": {"kind": "Widget", "plural": "widgets"},
                "versions": [{"name": "v1", "served": true}, {"name": "v2", "served": false}],
            },
        });
        releases::manifest(&object).expect("a manifest")
    }

    fn resource(version: &str) -> ApiResource {
        let kind = GroupVersionKind::gvk("example.com", version, "Widget");
        ApiResource::from_gvk_with_plural(&kind, "widgets")
    }

    #[test]
    fn a_served_kind_is_new_once_after_its_crd_was_created() {
        let kinds = NewKinds::default();
        kinds.note(&crd(), &json!({"status": {"storedVersions": ["v1"]}}));
        assert!(kinds.take(&resource("v1")));
        assert!(!kinds.take(&resource("v1")));
        assert!(!kinds.take(&resource("v2")), "it is not served");
    }

    #[test]
    fn a_crd_that_was_there_before_brings_nothing_new() {
        let kinds = NewKinds::default();
        let established = json!([{"type": "Established", "status": "True"}]);
        kinds.note(&crd(), &json!({"status": {"conditions": established}}));
        assert!(!kinds.take(&resource("v1")));
    }
}
