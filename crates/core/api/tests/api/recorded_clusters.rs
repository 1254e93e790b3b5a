//! Recorded objects of real clusters round-trip without loss.

use fairway_api::{ClusterOperator, ClusterVersion, read};
use fairway_fixtures::environment;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[test]
fn recorded_clusters_round_trip() {
    let Some(root) = environment::conformance("oc") else { return };
    let mut versions = 0;
    let mut operators = 0;
    for folder in ["recommend", "status"] {
        for file in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = file.unwrap().path();
            let name = path.display().to_string();
            if !(name.ends_with("-cv.yaml") || name.ends_with("-co.yaml")) {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            for object in objects(read::document(&name, &bytes).unwrap()) {
                match object["kind"].as_str() {
                    Some("ClusterVersion") => {
                        assert_unchanged::<ClusterVersion>(&name, &object);
                        versions += 1;
                    }
                    Some("ClusterOperator") => {
                        assert_unchanged::<ClusterOperator>(&name, &object);
                        operators += 1;
                    }
                    other => panic!("{name} holds a {other:?}"),
                }
            }
        }
    }
    assert!(versions >= 10 && operators >= 100, "{versions} versions, {operators} operators");
}

/// The object, or the items of a list.
fn objects(mut document: Value) -> Vec<Value> {
    match document.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => vec![document],
    }
}

fn assert_unchanged<T: DeserializeOwned + Serialize>(name: &str, object: &Value) {
    let typed: T =
        serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(&serde_json::to_value(&typed).unwrap(), object, "{name}");
}
