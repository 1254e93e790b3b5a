//! Annotations and evaluations of released versions, which the current reader must accept.

use fairway_api::ClusterVersion;
use fairway_fixtures::recorded;
use fairway_risk::evaluations::{CONFIG_MAP, Evaluations, KEY};
use fairway_risk::sources::{ConfigMapData, admin_gates};
use fairway_risk::{Acceptance, AcceptanceState};
use serde_json::Value;

#[test]
fn accepted_risks_of_v0_1_keep_scope_and_expiry() {
    let recorded = fixture("annotated-objects/cluster-version-keep-results.json");
    let version: ClusterVersion = serde_json::from_value(recorded).unwrap();
    let acceptance = Acceptance::from_cluster_version(&version);
    assert_eq!(acceptance.problems().collect::<Vec<_>>(), Vec::<String>::new());
    let names: Vec<&str> = acceptance.names().collect();
    assert_eq!(names, ["CloudCredentialPermissionsIncomplete", "StorageMigrationStalls"]);

    let name = "CloudCredentialPermissionsIncomplete";
    let terms = acceptance.terms(name).unwrap();
    assert_eq!(terms.reason.as_deref(), Some("CHG-2041"));
    assert_eq!(terms.by.as_deref(), Some("fairway-admin"));
    let definition = terms.definition.clone().unwrap();
    let state = |version: &str, now: &str| {
        acceptance.state(name, version, &definition, now.parse().unwrap())
    };
    assert_eq!(
        state("5.2.0", "2027-01-01T00:00:00Z"),
        AcceptanceState::Accepted { changed: false }
    );
    assert!(matches!(state("5.3.0", "2027-01-01T00:00:00Z"), AcceptanceState::OutOfScope(_)));
    assert!(matches!(state("5.2.0", "2100-01-01T00:00:00Z"), AcceptanceState::Expired(_)));
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

#[test]
fn admin_gate_of_v0_1_is_open_until_acknowledged() {
    let data = |file: &str| -> ConfigMapData {
        let data: Option<ConfigMapData> =
            serde_json::from_value(fixture(file)["data"].clone()).unwrap();
        data.unwrap_or_default()
    };
    let gates = data("config-maps/admin-gates.json");
    let mut acks = data("config-maps/admin-acks.json");
    let open = |version: &str, acks: &ConfigMapData| -> Vec<String> {
        let reported_risks = admin_gates(version, Ok(&gates), Ok(acks));
        reported_risks.into_iter().map(|reported_risk| reported_risk.risk.name).collect()
    };
    let gate = "ack-5.1-backups-v1beta1-removal-in-5.2";
    assert_eq!(gates.keys().collect::<Vec<_>>(), [gate]);
    assert_eq!(open("5.1.0", &acks).len(), 1);
    assert_eq!(open("5.2.0", &acks), Vec::<String>::new(), "the gate is for 5.1 only");
    acks.insert(gate.to_owned(), "true".to_owned());
    assert_eq!(open("5.1.0", &acks), Vec::<String>::new());
}

fn fixture(path: &str) -> Value {
    recorded::v0_1().json(path)
}
