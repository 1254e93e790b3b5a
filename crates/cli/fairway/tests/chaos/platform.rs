//! The releases of a platform: objects on several levels, and a component at the end of each.

use fairway_testkit::releases::TestRelease;
use serde_json::{Value, json};

/// Levels of the task graph; each begins when the one before is through.
pub(crate) const LEVELS: [u32; 4] = [10, 20, 30, 40];

/// Parts of a level, which are applied side by side.
const PARTS: [&str; 3] = ["alpha", "beta", "gamma"];

/// Maps of a part.
const MAPS_OF_A_PART: usize = 2;

/// Maps that are there in every release: those of the parts, and one for each component.
pub(crate) const MAPS: usize = LEVELS.len() * (PARTS.len() * MAPS_OF_A_PART + 1);

/// The key by which a map tells the number of its release.
pub(crate) const NUMBER: &str = "number";

/// The version of a release; each is a patch of the one before.
pub(crate) fn version(number: usize) -> String {
    format!("5.1.{number}")
}

/// The name of the component at the end of a level, and of the map that tells it its version.
pub(crate) fn component(level: u32) -> String {
    format!("component-{level}")
}

/// A release, with its objects in this namespace.
pub(crate) fn release(namespace: &str, number: usize) -> TestRelease {
    let mut release = TestRelease::new(&version(number));
    for level in LEVELS {
        for part in PARTS {
            for place in 0..MAPS_OF_A_PART {
                let name = format!("{part}-{level}-{place}");
                let map = map(namespace, &name, number);
                release = release.object(&format!("0000_{level}_{part}_{place}0-map"), map);
            }
            let role = role(namespace, &format!("{part}-{level}"), number);
            release = release.object(&format!("0000_{level}_{part}_50-role"), role);
        }
        let name = component(level);
        release = release
            .object(&format!("0000_{level}_alpha_60-it"), map(namespace, &name, number))
            .object(&format!("0000_{level}_alpha_90-operator"), operator(&name, number));
    }
    release.object("0000_20_beta_70-every-other", every_other(namespace, number))
}

/// A map whose content is that of its release; every release also has a key of its own.
fn map(namespace: &str, name: &str, number: usize) -> Value {
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

/// An object that every other release removes.
fn every_other(namespace: &str, number: usize) -> Value {
    let mut object = map(namespace, "every-other", number);
    if number % 2 == 1 {
        object["metadata"]["annotations"] = json!({"release.openshift.io/delete": "true"});
    }
    object
}

fn operator(name: &str, number: usize) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": name}, "spec": {},
        "status": {"versions": [{"name": "operator", "version": version(number)}]},
    })
}
