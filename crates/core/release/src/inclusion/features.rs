//! Feature set and feature gates of a cluster, from its `FeatureGate`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

/// Feature set and feature gates of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The feature set; empty is the default.
    pub set: String,
    /// Enabled feature gates by release version.
    gates: BTreeMap<String, BTreeSet<String>>,
}

impl Features {
    /// Reads a `FeatureGate` object, complete or without metadata.
    pub fn read(object: &Value) -> Result<Self, serde_json::Error> {
        let FeatureGate { spec, status } = FeatureGate::deserialize(object)?;
        let names = |gates: Vec<Gate>| gates.into_iter().map(|gate| gate.name).collect();
        let gates = status.feature_gates.into_iter();
        let gates = gates.map(|VersionGates { version, enabled }| (version, names(enabled)));
        Ok(Self { set: spec.feature_set, gates: gates.collect() })
    }

    /// The enabled gates of the first of these versions that the object lists.
    pub fn gates(&self, versions: &[&str]) -> BTreeSet<String> {
        let mut known = versions.iter().filter_map(|version| self.gates.get(*version));
        known.next().cloned().unwrap_or_default()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
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
    feature_gates: Vec<VersionGates>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct VersionGates {
    version: String,
    enabled: Vec<Gate>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Gate {
    name: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn gates_fall_back_to_previous_version() {
        let gates = |version: &str, names: &[&str]| {
            let enabled: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
            json!({"version": version, "enabled": enabled, "disabled": [{"name": "Off"}]})
        };
        let features = Features::read(&json!({
            "apiVersion": "config.openshift.io/v1", "kind": "FeatureGate", "metadata": {"name": "cluster"},
            "spec": {"featureSet": "TechPreviewNoUpgrade"},
            "status": {"featureGates": [gates("5.1.0", &["A", "B"]), gates("5.0.0", &["A"])]},
        }));
        let features = features.unwrap();
        assert_eq!(features.set, "TechPreviewNoUpgrade");
        let names = |versions: &[&str]| features.gates(versions).into_iter().collect::<Vec<_>>();
        assert_eq!(names(&["5.1.0", "5.0.0"]), ["A", "B"]);
        assert_eq!(names(&["5.2.0", "5.0.0"]), ["A"]);
        assert!(names(&["5.2.0"]).is_empty());
    }
}
