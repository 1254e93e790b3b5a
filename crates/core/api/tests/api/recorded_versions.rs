//! Objects of released versions: the current types read them without losing a field.

use std::collections::BTreeSet;

use fairway_api::{ClusterOperator, ClusterVersion, crds, read};
use fairway_fixtures::recorded;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Phases of a cluster that `fixtures/record` records.
const PHASES: usize = 24;

#[test]
fn cluster_version_of_v0_1_round_trips_in_every_phase() {
    let objects = objects("cluster-version");
    assert_eq!(objects.len(), PHASES);
    for (file, object) in objects {
        let version: ClusterVersion = round_trip(&file, &object);
        let status = version.status.unwrap_or_else(|| panic!("{file} has no status"));
        assert!(!status.history.is_empty() && !status.conditions.is_empty(), "{file}");
    }
}

#[test]
fn cluster_operators_of_v0_1_round_trip_in_every_phase() {
    let objects = objects("cluster-operators");
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
        let object = recorded::v0_1().json(&format!("annotated-objects/{name}"));
        let version: ClusterVersion = round_trip(name, &object);
        let metadata = version.metadata;
        assert!(metadata.annotations.is_some() && metadata.managed_fields.is_some(), "{name}");
    }
}

#[test]
fn annotated_cluster_operators_of_v0_1_round_trip_with_managed_fields() {
    for name in ["cluster-operators.json", "olm-guard-cluster-operator.json"] {
        for object in recorded::v0_1().objects(&format!("annotated-objects/{name}")) {
            let operator: ClusterOperator = round_trip(name, &object);
            assert!(operator.metadata.managed_fields.is_some(), "{name}");
        }
    }
}

/// Objects of the older version stay valid, and none of their fields is pruned.
#[test]
fn crds_of_v0_1_have_no_property_that_current_crds_lack() {
    let current: Vec<Value> =
        crds::all().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
    for file in recorded::v0_1().files("crds") {
        let before: Value = read::document(&file, &recorded::v0_1().bytes(&file)).unwrap();
        let now = current.iter().find(|crd| crd["metadata"]["name"] == before["metadata"]["name"]);
        let now = now.unwrap_or_else(|| panic!("{file}: the CRD is gone"));
        assert_eq!(now["spec"]["names"]["plural"], before["spec"]["names"]["plural"], "{file}");
        for version in before["spec"]["versions"].as_array().unwrap() {
            let same = |other: &&Value| other["name"] == version["name"];
            let other = now["spec"]["versions"].as_array().unwrap().iter().find(same);
            let other = other.unwrap_or_else(|| panic!("{file}: version {}", version["name"]));
            let properties = |version: &Value| {
                let mut found = BTreeSet::new();
                collect(&version["schema"]["openAPIV3Schema"], "", &mut found);
                found
            };
            let (before, now) = (properties(version), properties(other));
            assert!(before.len() > 10, "{file}: {} properties", before.len());
            assert_eq!(
                before.difference(&now).collect::<Vec<_>>(),
                Vec::<&String>::new(),
                "{file}"
            );
        }
    }
}

/// Properties of a schema with paths and types.
fn collect(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        found.insert(format!("{path}: {}", property["type"]));
        collect(property, &path, found);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            collect(&schema[inner], &format!("{path}[]"), found);
        }
    }
}

/// Reads an object and compares its serialization with the recording.
fn round_trip<T: DeserializeOwned + Serialize>(file: &str, object: &Value) -> T {
    let typed: T =
        serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(&serde_json::to_value(&typed).unwrap(), object, "{file}");
    typed
}

/// The objects of a directory, with their file names.
fn objects(directory: &str) -> Vec<(String, Value)> {
    let recording = recorded::v0_1();
    let files = recording.files(directory).into_iter();
    let objects = files.flat_map(|file| {
        recording.objects(&file).into_iter().map(move |object| (file.clone(), object))
    });
    objects.collect()
}
