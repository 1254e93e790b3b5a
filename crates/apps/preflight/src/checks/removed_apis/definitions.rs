//! What the target does to the definitions of the cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::ApiResource;

use super::Gone;
use crate::definitions::{Intent, resource};

/// What the cluster loses of its own definitions.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Versions that are served now, and not by the target.
    pub(super) retired: Vec<Gone>,
    /// Definitions with versions that are stored, and that the target does not know.
    pub(super) stored: Vec<Stored>,
    /// Definitions that go.
    pub(super) deleted: Vec<Deleted>,
}

/// A definition whose objects are stored in versions that the target does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) definition: String,
    /// The versions that are lost.
    pub(super) lost: Vec<String>,
    /// The version in which objects are stored from now on.
    pub(super) storage: String,
}

/// A definition that goes.
#[derive(Clone, Debug)]
pub(super) struct Deleted {
    pub(super) definition: String,
    /// How its objects are read.
    pub(super) resource: ApiResource,
}

impl Losses {
    /// Takes down what a definition of the cluster loses.
    pub(super) fn add(&mut self, now: &CustomResourceDefinition, intent: &Intent) {
        let served = || now.spec.versions.iter().filter(|version| version.served);
        let target = match intent {
            Intent::Deleted => {
                self.deleted.extend(served().next().map(|version| Deleted {
                    definition: now.name_any(),
                    resource: resource(now, &version.name),
                }));
                return;
            }
            Intent::Defined(target) => target,
        };
        let mut versions = target.spec.versions.iter();
        let instead = versions.clone().find(|version| version.served && version.storage);
        let instead = instead.map(|version| format!("{}/{}", now.spec.group, version.name));
        for version in served() {
            if !versions.clone().any(|kept| kept.served && kept.name == version.name) {
                let resource = resource(now, &version.name);
                self.retired.push(Gone::new(&resource, &resource, instead.clone()));
            }
        }
        let stored = now.status.iter().flat_map(|status| status.stored_versions.iter().flatten());
        let lost: Vec<String> = stored
            .filter(|name| !versions.clone().any(|kept| kept.name == **name))
            .cloned()
            .collect();
        let storage = versions.find(|version| version.storage);
        if let (Some(storage), false) = (storage, lost.is_empty()) {
            let (definition, storage) = (now.name_any(), storage.name.clone());
            self.stored.push(Stored { definition, lost, storage });
        }
    }
}

#[cfg(test)]
mod tests {
    use fairway_testkit::releases::manifest;
    use serde_json::{Value, json};

    use super::*;
    use crate::definitions::intents;

    /// Versions with whether they are served; the last is the one that is stored.
    fn definition(versions: &[(&str, bool)], stored: &[&str]) -> Value {
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

    fn losses(now: &Value, target: &Value) -> Losses {
        let intents = intents(&[manifest(target).unwrap()]);
        let mut losses = Losses::default();
        let now = serde_json::from_value(now.clone()).unwrap();
        losses.add(&now, &intents["backups.example.dev"]);
        losses
    }

    #[test]
    fn a_version_that_is_not_served_any_more_is_retired() {
        let now = definition(&[("v1alpha1", false), ("v1beta1", true), ("v1", true)], &["v1"]);
        for target in
            [definition(&[("v1", true)], &[]), definition(&[("v1beta1", false), ("v1", true)], &[])]
        {
            let Losses { retired, stored, deleted } = losses(&now, &target);
            let retired: Vec<_> = retired.iter().map(|gone| gone.api.as_str()).collect();
            assert_eq!(retired, ["backups.v1beta1.example.dev"]);
            assert!(stored.is_empty() && deleted.is_empty());
        }
        assert!(losses(&now, &now).retired.is_empty());
    }

    #[test]
    fn a_version_that_is_stored_has_to_stay_known() {
        let now = definition(&[("v1beta1", true), ("v1", true)], &["v1beta1", "v1"]);
        assert!(
            losses(&now, &definition(&[("v1beta1", false), ("v1", true)], &[])).stored.is_empty()
        );
        let stored = losses(&now, &definition(&[("v1", true)], &[])).stored;
        let expected = Stored {
            definition: "backups.example.dev".to_owned(),
            lost: vec!["v1beta1".to_owned()],
            storage: "v1".to_owned(),
        };
        assert_eq!(stored, [expected]);
    }

    #[test]
    fn a_definition_that_goes_takes_its_objects_along() {
        let now = definition(&[("v1beta1", false), ("v1", true)], &["v1beta1"]);
        let mut gone = now.clone();
        gone["metadata"]["annotations"] = json!({"release.openshift.io/delete": "true"});
        let Losses { retired, stored, deleted } = losses(&now, &gone);
        assert!(retired.is_empty() && stored.is_empty());
        assert_eq!(deleted[0].resource.api_version, "example.dev/v1");
    }
}
