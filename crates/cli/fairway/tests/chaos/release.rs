//! Releases with objects on several levels, and a component at the end of each level.

use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

/// Levels of the task graph; each starts after the previous one is complete.
pub(crate) const LEVELS: [u32; 4] = [10, 20, 30, 40];

/// Groups of a level, which are applied concurrently.
const GROUPS: [&str; 3] = ["alpha", "beta", "gamma"];

/// `ConfigMap`s of a group.
const MAPS_PER_GROUP: usize = 2;

/// `ConfigMap`s of every release: those of the groups, and one for each component.
pub(crate) const MAPS: usize = LEVELS.len() * (GROUPS.len() * MAPS_PER_GROUP + 1);

/// The key of a ConfigMap with the number of its release.
pub(crate) const NUMBER: &str = "number";

/// The version of a release, a patch version of the previous one.
pub(crate) fn version(number: usize) -> String {
    format!("5.1.{number}")
}

/// The name of the component at the end of a level, and of the ConfigMap with its version.
pub(crate) fn component(level: u32) -> String {
    format!("component-{level}")
}

/// A release with its objects in a namespace.
pub(crate) fn release(namespace: &str, number: usize) -> TestRelease {
    let mut release = TestRelease::new(&version(number));
    for level in LEVELS {
        for group in GROUPS {
            for index in 0..MAPS_PER_GROUP {
                let name = format!("{group}-{level}-{index}");
                let map = config_map(namespace, &name, number);
                release = release.object(&format!("0000_{level}_{group}_{index}0-map"), map);
            }
            let role = role(namespace, &format!("{group}-{level}"), number);
            release = release.object(&format!("0000_{level}_{group}_50-role"), role);
        }
        let name = component(level);
        release = release
            .object(&format!("0000_{level}_alpha_60-it"), config_map(namespace, &name, number))
            .object(&format!("0000_{level}_alpha_90-operator"), cluster_operator(&name, number));
    }
    release.object("0000_20_beta_70-every-other", every_other(namespace, number))
}

/// A ConfigMap with the number of its release, and a key that no other release has.
fn config_map(namespace: &str, name: &str, number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {NUMBER: number.to_string(), format!("only-in-{number}"): "yes"},
    })
}

fn role(namespace: &str, name: &str, number: usize) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": name, "namespace": namespace},
        "rules": [{
            "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"],
            "resourceNames": [format!("settings-{number}")],
        }],
    })
}

/// A ConfigMap that every other release deletes.
fn every_other(namespace: &str, number: usize) -> Value {
    let mut object = config_map(namespace, "every-other", number);
    if number % 2 == 1 {
        object["metadata"]["annotations"] = json!({"release.openshift.io/delete": "true"});
    }
    object
}

fn cluster_operator(name: &str, number: usize) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": name}, "spec": {},
        "status": {"versions": [{"name": "operator", "version": version(number)}]},
    })
}
