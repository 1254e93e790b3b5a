//! The `FeatureGate` of platforms that have one.

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::watcher;
use serde::Deserialize;
use tokio::sync::watch;

use super::follow::{Following, Objects};
use super::optional;

/// Which features a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The set that its administrator has chosen; empty is the default.
    pub set: String,
    /// The gates that are enabled, by the version of the release that they are for.
    gates: BTreeMap<String, BTreeSet<String>>,
}

impl Features {
    /// The gates that are enabled for the first of these versions that something is known about.
    pub fn gates(&self, versions: &[&str]) -> BTreeSet<String> {
        let mut known = versions.iter().filter_map(|version| self.gates.get(*version));
        known.next().cloned().unwrap_or_default()
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FeatureGate {
    spec: Spec,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    feature_set: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    feature_gates: Vec<OfVersion>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfVersion {
    version: String,
    enabled: Vec<Gate>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Gate {
    name: String,
}

/// Follows `FeatureGate/cluster`.
pub(super) fn follow(client: &Client, following: &Following) -> watch::Receiver<Option<Features>> {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "FeatureGate");
    let resource = ApiResource::from_gvk_with_plural(&kind, "featuregates");
    let config = watcher::Config::default().fields("metadata.name=cluster");
    optional::follow_as(client, following, resource, config, features)
}

fn features(objects: &Objects<DynamicObject>) -> Features {
    let Some(object) = objects.values().next() else { return Features::default() };
    match FeatureGate::deserialize(&object.data) {
        Ok(FeatureGate { spec, status }) => {
            let names = |gates: Vec<Gate>| gates.into_iter().map(|gate| gate.name).collect();
            let gates = status.feature_gates.into_iter();
            let gates = gates.map(|OfVersion { version, enabled }| (version, names(enabled)));
            Features { set: spec.feature_set, gates: gates.collect() }
        }
        Err(error) => {
            tracing::warn!(%error, "the FeatureGate cannot be read; no feature is enabled");
            Features::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn read(data: serde_json::Value) -> Features {
        let object: DynamicObject = serde_json::from_value(data).unwrap();
        features(&Arc::new(BTreeMap::from([("cluster".to_owned(), Arc::new(object))])))
    }

    #[test]
    fn a_release_has_its_own_gates_or_those_of_the_one_before() {
        let gates = |version: &str, names: &[&str]| {
            let enabled: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
            json!({"version": version, "enabled": enabled, "disabled": [{"name": "Off"}]})
        };
        let features = read(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"},
            "spec": {"featureSet": "TechPreviewNoUpgrade"},
            "status": {"featureGates": [gates("5.1.0", &["A", "B"]), gates("5.0.0", &["A"])]},
        }));
        assert_eq!(features.set, "TechPreviewNoUpgrade");
        let names = |versions: &[&str]| features.gates(versions).into_iter().collect::<Vec<_>>();
        assert_eq!(names(&["5.1.0", "5.0.0"]), ["A", "B"]);
        assert_eq!(names(&["5.2.0", "5.0.0"]), ["A"]);
        assert!(names(&["5.2.0"]).is_empty());
    }

    #[test]
    fn what_cannot_be_read_enables_nothing() {
        let broken = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"},
            "spec": {"featureSet": 7},
        });
        assert_eq!(read(broken), Features::default());
        assert_eq!(features(&Objects::default()), Features::default());
    }
}
