//! Kinds whose CRD this process has created.
//!
//! Their caches start as synced, because such a kind has no objects: API servers refuse watches of a
//! new kind for a second, which would delay every component with a CRD.

use std::collections::BTreeSet;
use std::sync::Mutex;

use fairway_release::Manifest;
use kube::discovery::ApiResource;
use serde_json::Value;

use super::discovery::served_kinds;
use crate::sync::lock;

/// Kinds whose CRD this process has created and that are not watched yet.
#[derive(Default)]
pub(super) struct NewKinds(Mutex<BTreeSet<KindKey>>);

/// Group, version and kind.
type KindKey = (String, String, String);

impl NewKinds {
    /// Records the kinds of an applied CRD, if the API server did not have it before: it sets
    /// conditions on every CRD that it has processed.
    pub(super) fn record(&self, crd: &Manifest, answer: &Value) {
        let conditions = answer["status"]["conditions"].as_array();
        if conditions.is_none_or(Vec::is_empty) {
            lock(&self.0).extend(served_kinds(crd).iter().map(|kind| key(&kind.resource)));
        }
    }

    /// Removes a kind and returns whether it was new.
    pub(super) fn take(&self, resource: &ApiResource) -> bool {
        lock(&self.0).remove(&key(resource))
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
    fn take_after_crd_creation_returns_true_once() {
        let kinds = NewKinds::default();
        kinds.record(&crd(), &json!({"status": {"storedVersions": ["v1"]}}));
        assert!(kinds.take(&resource("v1")));
        assert!(!kinds.take(&resource("v1")));
        assert!(!kinds.take(&resource("v2")), "it is not served");
    }

    #[test]
    fn take_of_existing_crd_returns_false() {
        let kinds = NewKinds::default();
        let established = json!([{"type": "Established", "status": "True"}]);
        kinds.record(&crd(), &json!({"status": {"conditions": established}}));
        assert!(!kinds.take(&resource("v1")));
    }
}
