//! Which features a cluster has, as its `FeatureGate` says.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

/// Which features a cluster has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The set that its administrator has chosen; empty is the default.
    pub set: String,
    /// The gates that are enabled, by the version of the release that they are for.
    gates: BTreeMap<String, BTreeSet<String>>,
}

impl Features {
    /// Reads a `FeatureGate`: the whole object, or what it has besides its name.
    pub fn read(object: &Value) -> Result<Self, serde_json::Error> {
        let FeatureGate { spec, status } = FeatureGate::deserialize(object)?;
        let names = |gates: Vec<Gate>| gates.into_iter().map(|gate| gate.name).collect();
        let gates = status.feature_gates.into_iter();
        let gates = gates.map(|OfVersion { version, enabled }| (version, names(enabled)));
        Ok(Self { set: spec.feature_set, gates: gates.collect() })
    }

    /// The gates that are enabled for the first of these versions that something is known about.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_release_has_its_own_gates_or_those_of_the_one_before() {
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
