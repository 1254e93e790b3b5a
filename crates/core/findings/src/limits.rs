//! Limits of untrusted documents. Placeholders replace what is dropped.

use crate::document::{CheckReport, CheckStatus, Document, Finding, Severity};
use crate::text::Truncator;

/// Maximum findings of a document or result. The API allows 200 risks of an update, and other
/// sources need some of them.
pub const MAX_FINDINGS: usize = 150;

/// Maximum checks of a document. A platform has fewer than 100 components.
pub const MAX_CHECKS: usize = 300;

/// Maximum watched resources of a check.
pub const MAX_WATCHED: usize = 100;

/// Maximum permissions of a check, which may have 20 RBAC manifests.
const MAX_GRANTED: usize = 20;

/// Maximum bytes of a name. The API allows 256, so that a longer name stays invalid and is
/// reported.
const MAX_NAME_BYTES: usize = 512;

/// Maximum bytes of a message.
const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// Maximum bytes of a URL. The API allows 2048, so that a longer URL stays invalid and is reported.
const MAX_URL_BYTES: usize = 4 << 10;

/// Name of the finding that replaces dropped findings.
pub const DROPPED: &str = "PreflightFindingsDropped";

/// Truncates a document to the limits. Returns what was dropped.
pub(crate) fn fit(document: &mut Document) -> Vec<String> {
    let mut truncator = Truncator::default();
    let Document { format: _, preflight_id, source_version, target_version, .. } = document;
    for version in [preflight_id, source_version, target_version] {
        truncator.trim("version", version, MAX_NAME_BYTES);
    }
    truncator.trim("image of the target", &mut document.target_image, MAX_URL_BYTES);
    truncator.trim("message", &mut document.message, MAX_MESSAGE_BYTES);
    let checks = fit_checks(&mut document.checks, &mut truncator);
    let findings = fit_findings(&mut document.risks, &mut truncator);
    checks.into_iter().chain(findings).chain(truncator.messages()).collect()
}

/// Truncates findings to the limits. Retains the most severe ones and adds one for the rest.
pub(crate) fn fit_findings(
    findings: &mut Vec<Finding>,
    truncator: &mut Truncator,
) -> Option<String> {
    let dropped = drop_least(findings);
    for finding in findings {
        truncator.trim("name of a finding", &mut finding.name, MAX_NAME_BYTES);
        truncator.trim("message of a finding", &mut finding.message, MAX_MESSAGE_BYTES);
        truncator.trim("url of a finding", &mut finding.url, MAX_URL_BYTES);
        truncator.trim("remediation of a finding", &mut finding.remediation, MAX_MESSAGE_BYTES);
        truncator.trim("check of a finding", &mut finding.check, MAX_NAME_BYTES);
        truncator.trim("version of a finding", &mut finding.target_version, MAX_NAME_BYTES);
    }
    dropped
}

fn drop_least(findings: &mut Vec<Finding>) -> Option<String> {
    let all = findings.len();
    let surplus = all.checked_sub(MAX_FINDINGS).filter(|surplus| *surplus > 0)?;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let worst = findings[MAX_FINDINGS..].iter().map(|finding| finding.severity).max();
    findings.truncate(MAX_FINDINGS);
    let dropped = format!("{surplus} of {all} findings are dropped");
    findings.push(Finding {
        name: DROPPED.to_owned(),
        message: format!(
            "{dropped}: the limit is {MAX_FINDINGS}. Report this to the maintainer of the release."
        ),
        severity: worst.unwrap_or(Severity::Warning).max(Severity::Warning),
        ..Finding::default()
    });
    Some(dropped)
}

/// Truncates reports to the limits. Adds a check without a result for the rest.
fn fit_checks(checks: &mut Vec<CheckReport>, truncator: &mut Truncator) -> Option<String> {
    let all = checks.len();
    let dropped = (all > MAX_CHECKS).then(|| {
        checks.truncate(MAX_CHECKS);
        let dropped = format!("{} of {all} checks are dropped", all - MAX_CHECKS);
        let message = dropped.clone();
        let name = "others".to_owned();
        let status = CheckStatus::Failed;
        checks.push(CheckReport { name, status, message, ..CheckReport::default() });
        dropped
    });
    for check in checks {
        truncator.trim("name of a check", &mut check.name, MAX_NAME_BYTES);
        truncator.trim("message of a check", &mut check.message, MAX_MESSAGE_BYTES);
        check.looked_at.truncate(MAX_WATCHED);
        for thing in &mut check.looked_at {
            truncator.trim("name of a resource that a check read", thing, MAX_NAME_BYTES);
        }
        check.granted.truncate(MAX_GRANTED);
        for grant in &mut check.granted {
            truncator.trim("permission of a check", grant, MAX_NAME_BYTES);
        }
    }
    dropped
}
