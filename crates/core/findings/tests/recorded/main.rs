//! Compatibility with files and records of released versions.

use fairway_findings::check_result::{self, ContainerTermination};
use fairway_findings::jobs::{self, JobAnswers, JobRequests};
use fairway_findings::record::{self, RunFailure, RunRecord};
use fairway_findings::{CheckStatus, Document, ExecutionStatus, ExpectedDocument};
use fairway_fixtures::recorded;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Runs that `fixtures/record` contains.
const RUNS: [&str; 7] =
    ["accepted", "failed", "findings", "next-release", "nothing-found", "running", "started"];

#[test]
fn read_results_of_v0_1_keeps_all_fields() {
    for run in RUNS {
        let bytes = file(&format!("preflight/{run}/result.json"));
        let recorded: Value = serde_json::from_slice(&bytes).unwrap();
        let word = |field: &str| recorded[field].as_str().unwrap();
        let expected = ExpectedDocument {
            run: word("preflightID"),
            target_version: word("targetVersion"),
            target_image: word("targetImage"),
        };
        let reading = Document::read(&bytes, &expected).unwrap();
        assert_eq!(reading.dropped, Vec::<String>::new(), "{run}");
        assert_eq!(serde_json::to_value(&reading.document).unwrap(), recorded, "{run}");
    }
}

#[test]
fn read_results_of_v0_1_keeps_meaning() {
    let read = |run: &str| {
        Document::read_any(&file(&format!("preflight/{run}/result.json"))).unwrap().document
    };
    for (run, status, is_complete, findings) in [
        ("started", ExecutionStatus::Running, false, &[][..]),
        (
            "findings",
            ExecutionStatus::Completed,
            true,
            &["CloudCredentialPermissionsIncomplete", "StorageCSIDriverIncompatible"],
        ),
        ("accepted", ExecutionStatus::Completed, true, &["CloudCredentialPermissionsIncomplete"]),
        ("nothing-found", ExecutionStatus::Completed, true, &[]),
    ] {
        let document = read(run);
        let names: Vec<&str> = document.risks.iter().map(|finding| &*finding.name).collect();
        assert_eq!(
            (document.execution_status, document.is_complete(), &names[..]),
            (status, is_complete, findings),
            "{run}"
        );
    }
    let failed = read("failed").checks.into_iter().find(|check| check.name == "fragile").unwrap();
    assert_eq!(failed.status, CheckStatus::Failed);
}

#[test]
fn read_job_files_of_v0_1_keeps_all_fields() {
    for run in RUNS {
        let id = value(&format!("preflight/{run}/result.json"))["preflightID"].clone();
        let id = id.as_str().unwrap();
        let (requests, answers) = (
            format!("preflight/{run}/{}", jobs::REQUESTS),
            format!("preflight/{run}/{}", jobs::ANSWERS),
        );
        let read = JobRequests::read(&file(&requests), id).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), value(&requests), "{run}");
        let read = JobAnswers::read(&file(&answers), id).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), value(&answers), "{run}");
    }
    let started = value("preflight/started/jobs.json");
    let jobs = started["jobs"].as_array().unwrap();
    assert!(jobs.iter().any(|job| job["access"].is_array()), "no check asks for access");
}

#[test]
fn interpret_results_of_v0_1_checks() {
    for (check, status, finding) in [
        ("machine-config", CheckStatus::Passed, None),
        ("storage", CheckStatus::Found, Some("StorageCSIDriverIncompatible")),
    ] {
        let log = file(&format!("preflight/answers/{check}.json"));
        let container = ContainerTermination {
            log: &log,
            termination_message: "",
            exit_code: 0,
            reason: "Completed",
            command: &[],
        };
        let outcome = check_result::interpret(check, &container);
        let found = outcome.findings.first().map(|finding| &*finding.name);
        assert_eq!((outcome.status, found), (status, finding), "{check}");
        assert_eq!(outcome.dropped, Vec::<String>::new(), "{check}");
    }
}

#[test]
fn read_records_of_v0_1_keeps_all_fields() {
    let (mut complete, mut partial, mut failures) = (0, 0, 0);
    for (file, map) in records() {
        let image = map["metadata"]["annotations"][record::TARGET_IMAGE].as_str().unwrap();
        assert_eq!(record::name(image).as_deref(), map["metadata"]["name"].as_str(), "{file}");
        assert_eq!(map["metadata"]["labels"][record::LABEL], "true", "{file}");
        for (key, text) in map["data"].as_object().unwrap() {
            let text = text.as_str().unwrap();
            match key.as_str() {
                record::COMPLETE => {
                    assert!(document(&file, text).is_complete(), "{file}");
                    complete += 1;
                }
                record::PARTIAL => {
                    document(&file, text);
                    partial += 1;
                }
                record::HISTORY => drop(round_trip::<Vec<RunRecord>>(&file, text)),
                record::FAILURE => {
                    let failure: RunFailure = round_trip(&file, text);
                    assert_eq!(failure.reason, "PreflightNotSupported", "{file}");
                    failures += 1;
                }
                other => panic!("{file} has the key {other}"),
            }
        }
    }
    assert!(complete > 0 && partial > 0 && failures > 0, "{complete} {partial} {failures}");
}

/// Parses a document and compares its serialisation with the recorded text.
fn document(file: &str, text: &str) -> Document {
    let reading = Document::read_any(text.as_bytes()).unwrap();
    assert_eq!(reading.dropped, Vec::<String>::new(), "{file}");
    round_trip::<Document>(file, text);
    reading.document
}

fn round_trip<T: DeserializeOwned + Serialize>(file: &str, text: &str) -> T {
    let typed: T = serde_json::from_str(text).unwrap();
    let recorded: Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), recorded, "{file}");
    typed
}

/// Recorded `ConfigMaps` with the names of their files.
fn records() -> Vec<(String, Value)> {
    let mut records = Vec::new();
    for name in recorded::v0_1().files("config-maps") {
        if name.starts_with("config-maps/preflight-") {
            let items = recorded::v0_1().objects(&name);
            records.extend(items.into_iter().map(|map| (name.clone(), map)));
        }
    }
    records
}

fn value(path: &str) -> Value {
    recorded::v0_1().json(path)
}

fn file(path: &str) -> Vec<u8> {
    recorded::v0_1().bytes(path)
}
