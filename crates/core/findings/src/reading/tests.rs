use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::document::{CheckStatus, ExecutionStatus, Reason, Severity};

const EXPECTED: ExpectedDocument<'_> = ExpectedDocument {
    run: "0123456789abcdef0123456789abcdef",
    target_version: "5.2.0",
    target_image: "mirror.example/release@sha256:abc",
};

/// The expected document with changed fields.
fn document(other: Value) -> Value {
    let mut document = json!({
        "format": "preflight-v1-json",
        "preflightID": EXPECTED.run,
        "sourceVersion": "5.0.0",
        "targetVersion": "5.2.0",
        "targetImage": "registry.example/release@sha256:abc",
        "executionStatus": "completed",
        "risks": [],
    });
    let Value::Object(other) = other else { panic!("fields") };
    document.as_object_mut().unwrap().extend(other);
    document
}

fn read(document: &Value) -> Result<ReadDocument, ReadError> {
    Document::read(document.to_string().as_bytes(), &EXPECTED)
}

#[test]
fn read_returns_written_document() {
    let finding = json!({
        "name": "ConcerningThingA",
        "message": "Cluster uses dual-stack networking configuration incompatible with 5.2.0.",
        "url": "https://issues.redhat.com/browse/SDN-3996",
        "targetVersion": "5.2.0",
    });
    let read = read(&document(json!({"risks": [finding]}))).unwrap();
    assert_eq!(read.dropped, Vec::<String>::new());
    let [finding] = &read.document.risks[..] else { panic!("{read:?}") };
    assert_eq!(finding.name, "ConcerningThingA");
    assert_eq!(
        (finding.severity, finding.reason),
        (Severity::Warning, Reason::PreflightValidation)
    );
    let again = serde_json::to_vec(&read.document).unwrap();
    assert_eq!(Document::read(&again, &EXPECTED), Ok(read));
}

#[test]
fn read_unknown_values_never_improves_results() {
    let document = document(json!({
        "executionStatus": "paused", "somethingNew": {"a": [1, 2]}, "started": "yesterday",
        "checks": [
            {"name": "etcd", "status": "postponed", "kind": "external", "lookedAt": "nodes"},
            "dns",
        ],
        "risks": [
            {"name": 7, "message": ["a", "b"], "severity": "catastrophic", "reason": "Rumour"},
            {"name": "Illegal name!", "severity": "info"},
            "the sky falls",
        ],
    }));
    let ReadDocument { document, dropped } = read(&document).unwrap();
    assert_eq!(dropped, Vec::<String>::new());
    assert_eq!(document.execution_status, ExecutionStatus::Failed);
    assert_eq!(document.started, None);
    let statuses: Vec<_> = document.checks.iter().map(|check| check.status).collect();
    assert_eq!(statuses, [CheckStatus::Failed, CheckStatus::Failed]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&document.risks).unwrap());
}

#[test]
fn read_error_distinguishes_causes() {
    let whole = document(json!({})).to_string();
    let cases: [(&str, Vec<u8>); 13] = [
        ("too large", vec![b' '; MAX_BYTES + 1]),
        ("empty", Vec::new()),
        ("broken off", whole.as_bytes()[..whole.len() / 2].to_vec()),
        ("not UTF-8", b"{\"format\": \"\xff\"}".to_vec()),
        ("deep", "[".repeat(10_000).into_bytes()),
        ("no object", b"[]".to_vec()),
        ("no format", b"{\"risks\": []}".to_vec()),
        ("a newer format", b"{\"format\": \"preflight-v2-json\", \"findings\": 7}".to_vec()),
        ("no risks", b"{\"format\": \"preflight-v1-json\"}".to_vec()),
        ("risks of another kind", document(json!({"risks": "none"})).to_string().into_bytes()),
        ("another run", document(json!({"preflightID": "x".repeat(99)})).to_string().into_bytes()),
        ("another version", document(json!({"targetVersion": "5.1.0"})).to_string().into_bytes()),
        ("another image", document(json!({"targetImage": "r@sha256:b"})).to_string().into_bytes()),
    ];
    let rendered = cases.map(|(case, bytes)| {
        let error = Document::read(&bytes, &EXPECTED).unwrap_err();
        format!("{case}: {error}")
    });
    insta::assert_snapshot!(rendered.join("\n"));
}

#[test]
fn read_failed_document_without_version_succeeds() {
    let fields = json!({"targetVersion": "", "executionStatus": "failed", "message": "no payload"});
    let ReadDocument { document: failed, .. } = read(&document(fields)).unwrap();
    assert_eq!((&*failed.target_version, &*failed.message), ("5.2.0", "no payload"));
    for other in [
        json!({"targetVersion": "5.1.0", "executionStatus": "failed"}),
        json!({"targetVersion": "", "executionStatus": "running"}),
        json!({"targetVersion": "", "executionStatus": "completed"}),
    ] {
        let rendered = read(&document(other)).unwrap_err();
        assert!(matches!(rendered, ReadError::Mismatch { what: "version", .. }), "{rendered}");
    }
}

#[test]
fn read_ten_thousand_findings_adds_one_for_dropped() {
    let mut risks: Vec<Value> = (0..9_999).map(|n| json!({"name": format!("Risk{n}")})).collect();
    risks.push(json!({"name": "Last", "severity": "critical"}));
    let reading = read(&document(json!({"risks": risks}))).unwrap();
    let risks = reading.document.risks;
    assert_eq!(risks.len(), limits::MAX_FINDINGS + 1);
    assert_eq!(risks[0].name, "Last", "the worst are kept");
    let placeholder = risks.last().unwrap();
    assert_eq!(
        (placeholder.name.as_str(), placeholder.severity),
        (limits::DROPPED, Severity::Warning)
    );
    insta::assert_snapshot!(placeholder.message, @"9850 of 10000 findings are dropped: the limit is 150. Report this to the maintainer of the release.");
    assert_eq!(reading.dropped, ["9850 of 10000 findings are dropped"]);
}

#[test]
fn read_too_many_checks_is_incomplete() {
    let checks = vec![json!({"name": "a", "status": "passed"}); limits::MAX_CHECKS + 1];
    let reading = read(&document(json!({"checks": checks}))).unwrap();
    assert!(!reading.document.is_complete());
    assert_eq!(reading.dropped, ["1 of 301 checks are dropped"]);
}

#[test]
fn read_long_texts_reports_truncation() {
    let long = "ä".repeat(100_000);
    let risk = json!({"name": long, "message": long, "url": long, "remediation": "short"});
    let check = json!({"name": "a", "message": long, "status": "failed"});
    let reading = read(&document(json!({"risks": [risk, {"message": long}], "checks": [check]})));
    let reading = reading.unwrap();
    assert!(reading.document.risks[0].name.len() > 256, "it stays illegal");
    insta::assert_snapshot!(reading.dropped.join("\n"), @r"
    the message of a check is truncated to 4096 bytes
    the message of a finding is truncated to 4096 bytes in 2 places
    the name of a finding is truncated to 512 bytes
    the url of a finding is truncated to 4096 bytes
    ");
}

proptest! {
    #[test]
    fn read_any_fields_reports_dropped_findings(
        fields in proptest::collection::btree_map("format|risks|checks|message|started", ".*", 0..5),
        risks in proptest::collection::vec("[a-z]", 0..400),
    ) {
        let others = serde_json::to_value(fields).unwrap();
        let mut document = document(others);
        document["format"] = json!(FORMAT);
        document["risks"] = json!(risks);
        if document["checks"].is_string() {
            prop_assert!(read(&document).is_err());
            return Ok(());
        }
        let reading = read(&document).unwrap();
        let kept = reading.document.risks.len();
        prop_assert_eq!(kept, risks.len().min(limits::MAX_FINDINGS + 1));
        prop_assert_eq!(reading.dropped.is_empty(), risks.len() <= limits::MAX_FINDINGS);
    }
}
