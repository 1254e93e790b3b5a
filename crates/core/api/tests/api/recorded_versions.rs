//! Objects that released versions wrote: the current types read them without losing a field.

use std::fs;
use std::path::{Path, PathBuf};

use fairway_api::{ClusterOperator, ClusterVersion};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The phases of a cluster that `fixtures/record` records.
const PHASES: usize = 24;

#[test]
fn cluster_version_of_v0_1_round_trips_in_every_phase() {
    let objects = recorded("cluster-version");
    assert_eq!(objects.len(), PHASES);
    for (file, object) in objects {
        let version: ClusterVersion = round_trip(&file, &object);
        let status = version.status.unwrap_or_else(|| panic!("{file} has no status"));
        assert!(!status.history.is_empty() && !status.conditions.is_empty(), "{file}");
    }
}

#[test]
fn cluster_operators_of_v0_1_round_trip_in_every_phase() {
    let objects = recorded("cluster-operators");
    assert!(objects.len() > 50, "{}", objects.len());
    for (file, object) in &objects {
        round_trip::<ClusterOperator>(file, object);
    }
    let reports = objects.iter().filter(|(_, object)| object["status"]["extension"].is_object());
    assert!(reports.count() > 0, "no risk report is recorded");
}

#[test]
fn annotated_cluster_versions_of_v0_1_round_trip_with_managed_fields() {
    for name in ["cluster-version.json", "cluster-version-keep-results.json"] {
        let file = directory("annotated-objects").join(name);
        let version: ClusterVersion = round_trip(name, &read(&file));
        let metadata = version.metadata;
        assert!(metadata.annotations.is_some() && metadata.managed_fields.is_some(), "{name}");
    }
}

/// Reads an object and compares what the type writes with what was recorded.
fn round_trip<T: DeserializeOwned + Serialize>(file: &str, object: &Value) -> T {
    let typed: T =
        serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(&serde_json::to_value(&typed).unwrap(), object, "{file}");
    typed
}

/// Every object of a directory, with the name of its file. Lists are taken apart.
fn recorded(name: &str) -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    for entry in fs::read_dir(directory(name)).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut document = read(&path);
        match document.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => {
                objects.extend(items.into_iter().map(|item| (file.clone(), item)));
            }
            _ => objects.push((file, document)),
        }
    }
    objects
}

fn read(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn directory(name: &str) -> PathBuf {
    let mut parents = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let found = parents.find_map(|parent| {
        let fixtures = parent.join("fixtures/v0.1.0");
        fixtures.is_dir().then_some(fixtures)
    });
    found.expect("fixtures/v0.1.0 at the root of the repository").join(name)
}
