//! How much of everything is kept of what others found, and what stands in for the rest.

use crate::document::{CheckReport, CheckStatus, Document, Finding, Severity};
use crate::text::Scissors;

/// Findings of one document or answer: an update has room for 200 risks, and others find some, too.
pub const FINDINGS: usize = 150;

/// Checks of one document: a platform has fewer than a hundred operators.
pub const CHECKS: usize = 300;

/// Things that one check says it has looked at: real ones look at a few kinds.
pub const LOOKED_AT: usize = 100;

/// Things that one check was granted: it brings 20 manifests at most.
const GRANTED: usize = 20;

/// Bytes of a name. The API takes 256: a longer one stays illegal, and is told as such.
const NAME: usize = 512;

/// Bytes of what a finding or a check says. Real ones are a few sentences.
const MESSAGE: usize = 4 << 10;

/// Bytes of an address. The API takes 2048: a longer one stays illegal, and is told as such.
const URL: usize = 4 << 10;

/// The name of the finding that stands in for findings that are not kept.
pub const DROPPED: &str = "PreflightFindingsDropped";

/// Makes a document fit, and tells what of it is missing then.
pub(crate) fn fit(document: &mut Document) -> Vec<String> {
    let mut scissors = Scissors::default();
    let Document { format: _, preflight_id, source_version, target_version, .. } = document;
    for version in [preflight_id, source_version, target_version] {
        scissors.trim("version", version, NAME);
    }
    scissors.trim("image of the target", &mut document.target_image, URL);
    scissors.trim("message", &mut document.message, MESSAGE);
    let checks = fit_checks(&mut document.checks, &mut scissors);
    let findings = fit_findings(&mut document.risks, &mut scissors);
    checks.into_iter().chain(findings).chain(scissors.told()).collect()
}

/// Makes findings fit. Where there are too many, the worst are kept, and one says how many are not.
pub(crate) fn fit_findings(findings: &mut Vec<Finding>, scissors: &mut Scissors) -> Option<String> {
    let told = drop_least(findings);
    for finding in findings {
        scissors.trim("name of a finding", &mut finding.name, NAME);
        scissors.trim("message of a finding", &mut finding.message, MESSAGE);
        scissors.trim("url of a finding", &mut finding.url, URL);
        scissors.trim("remediation of a finding", &mut finding.remediation, MESSAGE);
        scissors.trim("check of a finding", &mut finding.check, NAME);
        scissors.trim("version of a finding", &mut finding.target_version, NAME);
    }
    told
}

fn drop_least(findings: &mut Vec<Finding>) -> Option<String> {
    let all = findings.len();
    let surplus = all.checked_sub(FINDINGS).filter(|surplus| *surplus > 0)?;
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let worst = findings[FINDINGS..].iter().map(|finding| finding.severity).max();
    findings.truncate(FINDINGS);
    let told = format!("{surplus} of {all} findings are dropped");
    findings.push(Finding {
        name: DROPPED.to_owned(),
        message: format!(
            "{told}: the limit is {FINDINGS}. Report this to the maintainer of the release."
        ),
        severity: worst.unwrap_or(Severity::Warning).max(Severity::Warning),
        ..Finding::default()
    });
    Some(told)
}

/// Makes reports fit. Where there are too many, one without an answer stands for the rest.
fn fit_checks(checks: &mut Vec<CheckReport>, scissors: &mut Scissors) -> Option<String> {
    let all = checks.len();
    let told = (all > CHECKS).then(|| {
        checks.truncate(CHECKS);
        let told = format!("{} of {all} checks are dropped", all - CHECKS);
        let message = told.clone();
        let name = "others".to_owned();
        let status = CheckStatus::Failed;
        checks.push(CheckReport { name, status, message, ..CheckReport::default() });
        told
    });
    for check in checks {
        scissors.trim("name of a check", &mut check.name, NAME);
        scissors.trim("message of a check", &mut check.message, MESSAGE);
        check.looked_at.truncate(LOOKED_AT);
        for thing in &mut check.looked_at {
            scissors.trim("name of a resource that a check read", thing, NAME);
        }
        check.granted.truncate(GRANTED);
        for grant in &mut check.granted {
            scissors.trim("permission of a check", grant, NAME);
        }
    }
    told
}
