use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::document::{CheckStatus, ExecutionStatus, Reason, Severity};

const EXPECTED: Expected<'_> = Expected {
    run: "0123456789abcdef0123456789abcdef",
    target_version: "5.2.0",
    target_image: "mirror.example/release@sha256:abc",
};

/// A document of the run that is expected, with other fields in place of some.
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

fn read(document: &Value) -> Result<Reading, ReadError> {
    Document::read(document.to_string().as_bytes(), &EXPECTED)
}

#[test]
fn what_was_written_is_read() {
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
fn what_is_not_known_here_is_read_as_nothing_better_than_it_is() {
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
    let Reading { document, dropped } = read(&document).unwrap();
    assert_eq!(dropped, Vec::<String>::new());
    assert_eq!(document.execution_status, ExecutionStatus::Failed);
    assert_eq!(document.started, None);
    let statuses: Vec<_> = document.checks.iter().map(|check| check.status).collect();
    assert_eq!(statuses, [CheckStatus::Failed, CheckStatus::Failed]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&document.risks).unwrap());
}

#[test]
fn what_cannot_be_read_is_told_apart() {
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
    let told = cases.map(|(case, bytes)| {
        let error = Document::read(&bytes, &EXPECTED).unwrap_err();
        format!("{case}: {error}")
    });
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_release_that_failed_need_not_know_its_version() {
    let words = json!({"targetVersion": "", "executionStatus": "failed", "message": "no payload"});
    let Reading { document: failed, .. } = read(&document(words)).unwrap();
    assert_eq!((&*failed.target_version, &*failed.message), ("5.2.0", "no payload"));
    for other in [
        json!({"targetVersion": "5.1.0", "executionStatus": "failed"}),
        json!({"targetVersion": "", "executionStatus": "running"}),
        json!({"targetVersion": "", "executionStatus": "completed"}),
    ] {
        let told = read(&document(other)).unwrap_err();
        assert!(matches!(told, ReadError::Mismatch { what: "version", .. }), "{told}");
    }
}

#[test]
fn ten_thousand_findings_leave_one_that_says_so() {
    let mut risks: Vec<Value> = (0..9_999).map(|n| json!({"name": format!("Risk{n}")})).collect();
    risks.push(json!({"name": "Last", "severity": "critical"}));
    let reading = read(&document(json!({"risks": risks}))).unwrap();
    let risks = reading.document.risks;
    assert_eq!(risks.len(), limits::FINDINGS + 1);
    assert_eq!(risks[0].name, "Last", "the worst are kept");
    let stand_in = risks.last().unwrap();
    assert_eq!((stand_in.name.as_str(), stand_in.severity), (limits::DROPPED, Severity::Warning));
    insta::assert_snapshot!(stand_in.message, @"9850 of 10000 findings are dropped: the limit is 150. Report this to the maintainer of the release.");
    assert_eq!(reading.dropped, ["9850 of 10000 findings are dropped"]);
}

#[test]
fn checks_that_are_not_kept_do_not_count_as_answers() {
    let checks = vec![json!({"name": "a", "status": "passed"}); limits::CHECKS + 1];
    let reading = read(&document(json!({"checks": checks}))).unwrap();
    assert!(!reading.document.is_complete());
    assert_eq!(reading.dropped, ["1 of 301 checks are dropped"]);
}

#[test]
fn long_texts_are_cut_and_that_is_told() {
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
    fn nothing_panics_and_nothing_is_lost_unsaid(
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
        prop_assert_eq!(kept, risks.len().min(limits::FINDINGS + 1));
        prop_assert_eq!(reading.dropped.is_empty(), risks.len() <= limits::FINDINGS);
    }
}
