//! What a check says in the end.

use fairway_findings::answer::Answer;
use fairway_findings::{ExecutionStatus, FORMAT, Finding, Reason, camel_case};
use semver::Version;

use crate::CannotTell;

/// Findings of one check: more than people read, and far less than an answer may have bytes.
const MOST_FINDINGS: usize = 100;

/// What a check of that release says in the end. One that cannot tell says so: that is a finding,
/// too.
pub(crate) fn of(
    check: &str,
    target: Option<&Version>,
    outcome: Result<Vec<Finding>, CannotTell>,
) -> Answer {
    let (execution_status, message, found) = match outcome {
        Ok(found) => (ExecutionStatus::Completed, String::new(), found),
        Err(why) => {
            let unknown = unknown(check, target, &why);
            (ExecutionStatus::Failed, why.to_string(), vec![unknown])
        }
    };
    let complete = |finding: Finding| Finding {
        check: check.to_owned(),
        target_version: target.map(ToString::to_string).unwrap_or_default(),
        ..finding
    };
    let risks = fitting(check, found).into_iter().map(complete).collect();
    Answer { format: FORMAT.to_owned(), execution_status, message, risks }
}

/// What is said about a question that has no answer.
pub(crate) fn unknown(check: &str, target: Option<&Version>, why: &CannotTell) -> Finding {
    let (reason, suffix) = match why {
        CannotTell::VersionSkew(_) => (Reason::PreflightVersionSkew, "VersionSkew"),
        _ => (Reason::PreflightPartial, "CompatibilityUnknown"),
    };
    let name = format!("{}{suffix}", camel_case(check));
    let target = target.map_or("the release".to_owned(), ToString::to_string);
    let message = format!("Compatibility of {check} with {target} is unknown: {why}.");
    let remediation = match why {
        CannotTell::VersionSkew(_) => "Run a preflight of an intermediate release",
        _ => "Resolve the cause; Fairway retries the check",
    };
    Finding { reason, ..Finding::warning(name, message).remediation(remediation) }
}

/// The worst come first, and what does not fit is counted.
fn fitting(check: &str, mut found: Vec<Finding>) -> Vec<Finding> {
    if found.len() <= MOST_FINDINGS {
        return found;
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let rest = found.split_off(MOST_FINDINGS - 1);
    let message = format!("{} more findings are not shown.", rest.len());
    let worst = rest.iter().map(|finding| finding.severity).max().unwrap_or_default();
    let more = Finding::warning(format!("{}MoreFindings", camel_case(check)), message);
    found.push(Finding { severity: worst, ..more });
    found
}

#[cfg(test)]
mod tests {
    use fairway_findings::Severity;

    use super::*;

    fn said(outcome: Result<Vec<Finding>, CannotTell>) -> String {
        serde_json::to_string(&of("cloud-credential", Some(&Version::new(5, 2, 0)), outcome))
            .unwrap()
    }

    #[test]
    fn what_is_found_is_completed() {
        insta::assert_snapshot!(said(Ok(Vec::new())), @r#"{"format":"preflight-v1-json","executionStatus":"completed","risks":[]}"#);
        let found =
            Finding::critical("PermissionsMissing", "The permission disks.create is missing.")
                .remediation("Grant it.")
                .url("https://platform.example/permissions");
        insta::assert_snapshot!(said(Ok(vec![found])), @r#"{"format":"preflight-v1-json","executionStatus":"completed","risks":[{"name":"PermissionsMissing","message":"The permission disks.create is missing.","url":"https://platform.example/permissions","targetVersion":"5.2.0","severity":"critical","remediation":"Grant it.","check":"cloud-credential","reason":"PreflightValidation"}]}"#);
    }

    #[test]
    fn what_cannot_be_told_is_a_warning_with_a_name() {
        insta::assert_snapshot!(said(Err(CannotTell::because("nobody knows"))), @r#"{"format":"preflight-v1-json","executionStatus":"failed","message":"nobody knows","risks":[{"name":"CloudCredentialCompatibilityUnknown","message":"Compatibility of cloud-credential with 5.2.0 is unknown: nobody knows.","targetVersion":"5.2.0","severity":"warning","remediation":"Resolve the cause; Fairway retries the check","check":"cloud-credential","reason":"PreflightPartial"}]}"#);
        let skew = said(Err(CannotTell::VersionSkew("too far".to_owned())));
        assert!(skew.contains(r#""name":"CloudCredentialVersionSkew""#), "{skew}");
        assert!(skew.contains(r#""reason":"PreflightVersionSkew""#), "{skew}");
    }

    #[test]
    fn of_too_many_the_worst_are_kept() {
        let mut found = vec![Finding::warning("Warning", ""); 150];
        found.push(Finding::critical("Critical", ""));
        let kept = fitting("network", found);
        assert_eq!(kept.len(), MOST_FINDINGS);
        assert_eq!(kept[0].name, "Critical");
        let last = kept.last().unwrap();
        assert_eq!(last.name, "NetworkMoreFindings");
        assert_eq!(last.message, "52 more findings are not shown.");
        assert_eq!(last.severity, Severity::Warning);
    }
}
