//! Preflight results for tests.

use std::collections::BTreeMap;

use fairway_findings::record::{self, COMPLETE, PARTIAL};
use fairway_findings::{
    CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus, FORMAT, Finding, Reason,
    Severity,
};
use fairway_testkit::objects;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;

/// Complete results of a release for a cluster at 5.1.0, half an hour old, without findings.
pub(super) fn document(version: &str) -> Document {
    let time = |text: &str| Some(text.parse().unwrap());
    Document {
        format: FORMAT.to_owned(),
        preflight_id: "00112233445566778899aabbccddeeff".to_owned(),
        source_version: "5.1.0".to_owned(),
        target_version: version.to_owned(),
        target_image: objects::release(version).image,
        execution_status: ExecutionStatus::Completed,
        started: time("2026-01-01T01:20:00Z"),
        completed: time("2026-01-01T01:25:00Z"),
        updated: time("2026-01-01T01:30:00Z"),
        checks: vec![
            check("network", CheckKind::Operator, CheckStatus::Passed),
            check("storage", CheckKind::Operator, CheckStatus::Passed),
            check("new-operator", CheckKind::Operator, CheckStatus::Skipped),
            check("removed-apis", CheckKind::BuiltIn, CheckStatus::Passed),
        ],
        ..Document::default()
    }
}

pub(super) fn check(name: &str, kind: CheckKind, status: CheckStatus) -> CheckReport {
    let ended = Some("2026-01-01T01:30:00Z".parse().unwrap());
    CheckReport { name: name.to_owned(), kind, status, ended, ..CheckReport::default() }
}

pub(super) fn finding(name: &str, severity: Severity) -> Finding {
    Finding {
        name: name.to_owned(),
        message: format!("{name} will happen."),
        url: format!("https://example.com/{name}"),
        severity,
        remediation: "Change it first.".to_owned(),
        check: "network".to_owned(),
        reason: Reason::PreflightValidation,
        ..Finding::default()
    }
}

/// The same, with findings of the check `network`.
pub(super) fn with_findings(version: &str, findings: &[(&str, Severity)]) -> Document {
    let mut document = document(version);
    document.checks[0].status = CheckStatus::Found;
    document.risks = findings.iter().map(|(name, severity)| finding(name, *severity)).collect();
    document
}

/// ConfigMap with the results.
pub(super) fn kept(document: &Document) -> ConfigMap {
    let key = if document.is_complete() { COMPLETE } else { PARTIAL };
    let entry = (key.to_owned(), serde_json::to_string(document).unwrap());
    let image = (record::TARGET_IMAGE.to_owned(), document.target_image.clone());
    ConfigMap {
        metadata: ObjectMeta {
            name: record::name(&document.target_image),
            annotations: Some(BTreeMap::from([image])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([entry])),
        ..ConfigMap::default()
    }
}
