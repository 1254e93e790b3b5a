//! Annotations and evaluations that released versions wrote: the current reader understands them.

use std::fs;
use std::path::Path;

use fairway_api::ClusterVersion;
use fairway_risk::evaluations::{CONFIG_MAP, Evaluations, KEY};
use fairway_risk::{Acceptance, Standing};
use serde_json::Value;

#[test]
fn accepted_risks_of_v0_1_count_on_their_terms() {
    let recorded = fixture("annotated-objects/cluster-version-keep-results.json");
    let version: ClusterVersion = serde_json::from_value(recorded).unwrap();
    let acceptance = Acceptance::of(&version);
    assert_eq!(acceptance.problems().collect::<Vec<_>>(), Vec::<String>::new());
    let names: Vec<&str> = acceptance.names().collect();
    assert_eq!(names, ["CloudCredentialPermissionsIncomplete", "StorageMigrationStalls"]);

    let name = "CloudCredentialPermissionsIncomplete";
    let terms = acceptance.terms(name).unwrap();
    assert_eq!(terms.reason.as_deref(), Some("CHG-2041"));
    assert_eq!(terms.by.as_deref(), Some("fairway-admin"));
    let definition = terms.definition.clone().unwrap();
    let standing = |version: &str, now: &str| {
        acceptance.standing(name, version, &definition, now.parse().unwrap())
    };
    assert_eq!(standing("5.2.0", "2027-01-01T00:00:00Z"), Standing::Accepted { changed: false });
    assert!(matches!(standing("5.3.0", "2027-01-01T00:00:00Z"), Standing::OutOfScope(_)));
    assert!(matches!(standing("5.2.0", "2100-01-01T00:00:00Z"), Standing::Expired(_)));
}

#[test]
fn evaluations_of_v0_1_are_read_in_full() {
    let map = fixture("config-maps/risk-evaluations.json");
    assert_eq!(map["metadata"]["name"], CONFIG_MAP);
    let text = map["data"][KEY].as_str().unwrap();
    let recorded: Value = serde_json::from_str(text).unwrap();
    let evaluations = Evaluations::read(text).unwrap();
    assert_eq!(evaluations.omitted, 0);
    assert!(!evaluations.queries.is_empty());
    assert_eq!(serde_json::to_value(&evaluations.queries).unwrap(), recorded["queries"]);
}

fn fixture(path: &str) -> Value {
    let mut parents = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let path = parents.find_map(|parent| {
        let path = parent.join("fixtures/v0.1.0").join(path);
        path.is_file().then_some(path)
    });
    let bytes = fs::read(path.expect("a file of fixtures/v0.1.0")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}
