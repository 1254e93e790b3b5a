//! Changes of the target release to the CRDs of the cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::ApiResource;

use super::RemovedApi;
use crate::resources::{CrdChange, resource};

/// CRDs and versions that the update removes.
#[derive(Debug, Default)]
pub(super) struct CrdRemovals {
    /// Versions that are served now and not by the target release.
    pub(super) retired: Vec<RemovedApi>,
    /// CRDs with stored versions that the target release does not have.
    pub(super) stored: Vec<StoredVersions>,
    /// CRDs that the target release deletes.
    pub(super) deleted: Vec<DeletedCrd>,
}

/// A CRD with stored versions that the target release does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredVersions {
    pub(super) crd: String,
    /// The removed versions.
    pub(super) lost: Vec<String>,
    /// Current storage version.
    pub(super) storage: String,
}

/// A CRD that the target release deletes.
#[derive(Clone, Debug)]
pub(super) struct DeletedCrd {
    pub(super) crd: String,
    /// Resource of its objects.
    pub(super) resource: ApiResource,
}

impl CrdRemovals {
    /// Adds the removals of one CRD.
    pub(super) fn add(&mut self, now: &CustomResourceDefinition, change: &CrdChange) {
        let served = || now.spec.versions.iter().filter(|version| version.served);
        let target = match change {
            CrdChange::Deleted => {
                self.deleted.extend(served().next().map(|version| DeletedCrd {
                    crd: now.name_any(),
                    resource: resource(now, &version.name),
                }));
                return;
            }
            CrdChange::Defined(target) => target,
        };
        let mut versions = target.spec.versions.iter();
        let instead = versions.clone().find(|version| version.served && version.storage);
        let instead = instead.map(|version| format!("{}/{}", now.spec.group, version.name));
        for version in served() {
            if !versions.clone().any(|retained| retained.served && retained.name == version.name) {
                let resource = resource(now, &version.name);
                self.retired.push(RemovedApi::new(&resource, &resource, instead.clone()));
            }
        }
        let stored = now.status.iter().flat_map(|status| status.stored_versions.iter().flatten());
        let lost: Vec<String> = stored
            .filter(|name| !versions.clone().any(|retained| retained.name == **name))
            .cloned()
            .collect();
        let storage = versions.find(|version| version.storage);
        if let (Some(storage), false) = (storage, lost.is_empty()) {
            let (crd, storage) = (now.name_any(), storage.name.clone());
            self.stored.push(StoredVersions { crd, lost, storage });
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_testkit::releases::manifest;
    use serde_json::{Value, json};

    use super::*;
    use crate::resources::crd_changes;

    /// Versions and whether they are served; the last is the storage version.
    fn crd(versions: &[(&str, bool)], stored: &[&str]) -> Value {
        let last = versions.len() - 1;
        let version = |(index, (name, served)): (usize, &(&str, bool))| json!({"name": name, "served": served, "storage": index == last});
        let versions: Vec<Value> = versions.iter().enumerate().map(version).collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "backups.example.dev"},
            "spec": {
                "group": "example.dev", "scope": "Namespaced",
                "names": {"kind": "Backup", "plural": "backups"}, "versions": versions,
            },
            "status": {"storedVersions": stored},
        })
    }

    fn crd_removals(now: &Value, target: &Value) -> CrdRemovals {
        let crd_changes = crd_changes(&[manifest(target).unwrap()]);
        let mut crd_removals = CrdRemovals::default();
        let now = serde_json::from_value(now.clone()).unwrap();
        crd_removals.add(&now, &crd_changes["backups.example.dev"]);
        crd_removals
    }

    #[test]
    fn removals_include_versions_no_longer_served() {
        let now = crd(&[("v1alpha1", false), ("v1beta1", true), ("v1", true)], &["v1"]);
        for target in [crd(&[("v1", true)], &[]), crd(&[("v1beta1", false), ("v1", true)], &[])] {
            let CrdRemovals { retired, stored, deleted } = crd_removals(&now, &target);
            let retired: Vec<_> = retired.iter().map(|gone| gone.api.as_str()).collect();
            assert_eq!(retired, ["backups.v1beta1.example.dev"]);
            assert!(stored.is_empty() && deleted.is_empty());
        }
        assert!(crd_removals(&now, &now).retired.is_empty());
    }

    #[test]
    fn removals_include_lost_stored_versions() {
        let now = crd(&[("v1beta1", true), ("v1", true)], &["v1beta1", "v1"]);
        assert!(
            crd_removals(&now, &crd(&[("v1beta1", false), ("v1", true)], &[])).stored.is_empty()
        );
        let stored = crd_removals(&now, &crd(&[("v1", true)], &[])).stored;
        let expected = StoredVersions {
            crd: "backups.example.dev".to_owned(),
            lost: vec!["v1beta1".to_owned()],
            storage: "v1".to_owned(),
        };
        assert_eq!(stored, [expected]);
    }

    #[test]
    fn removals_include_deleted_crd() {
        let now = crd(&[("v1beta1", false), ("v1", true)], &["v1beta1"]);
        let mut gone = now.clone();
        gone["metadata"]["annotations"] = json!({"release.openshift.io/delete": "true"});
        let CrdRemovals { retired, stored, deleted } = crd_removals(&now, &gone);
        assert!(retired.is_empty() && stored.is_empty());
        assert_eq!(deleted[0].resource.api_version, "example.dev/v1");
    }
}
