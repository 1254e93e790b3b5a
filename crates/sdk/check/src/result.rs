//! Execution of a check, and its result.

use std::time::Duration;

use fairway_findings::check_result::CheckResult;
use fairway_findings::{ExecutionStatus, FORMAT, Finding, Reason, camel_case};
use semver::Version;
use tokio::task::JoinError;
use tokio::time::timeout;

use crate::{CannotTell, Check, Context};

/// Maximum number of findings of a check.
const MAX_FINDINGS: usize = 100;

/// Runs a check with a timeout. A check that blocks its thread is stopped by [`main`](crate::main)
/// only.
pub async fn run(check: impl Check, context: Context, time: Duration) -> CheckResult {
    let (name, target) = (check.name().to_owned(), context.target().clone());
    let mut task = tokio::spawn(async move { check.run(&context).await });
    let outcome = match timeout(time, &mut task).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Err(CannotTell::Panicked(panic_message(error))),
        Err(_) => {
            task.abort();
            Err(CannotTell::TimedOut(time))
        }
    };
    check_result(&name, Some(&target), outcome)
}

/// Message of a panic.
fn panic_message(error: JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else { return "task cancelled".to_owned() };
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("panic without a message").to_owned()
}

/// Result of a check. An error becomes a finding, too.
pub(crate) fn check_result(
    check: &str,
    target: Option<&Version>,
    outcome: Result<Vec<Finding>, CannotTell>,
) -> CheckResult {
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
    let risks = truncated(check, found).into_iter().map(complete).collect();
    CheckResult { format: FORMAT.to_owned(), execution_status, message, risks }
}

/// Finding for a missing result.
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

/// Truncates findings to the limit. Retains the most severe ones and adds one for the rest.
fn truncated(check: &str, mut found: Vec<Finding>) -> Vec<Finding> {
    if found.len() <= MAX_FINDINGS {
        return found;
    }
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let rest = found.split_off(MAX_FINDINGS - 1);
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

    fn result(outcome: Result<Vec<Finding>, CannotTell>) -> String {
        serde_json::to_string(&check_result(
            "cloud-credential",
            Some(&Version::new(5, 2, 0)),
            outcome,
        ))
        .unwrap()
    }

    #[test]
    fn result_completes_findings() {
        insta::assert_snapshot!(result(Ok(Vec::new())), @r#"{"format":"preflight-v1-json","executionStatus":"completed","risks":[]}"#);
        let found =
            Finding::critical("PermissionsMissing", "The permission disks.create is missing.")
                .remediation("Grant it.")
                .url("https://platform.example/permissions");
        insta::assert_snapshot!(result(Ok(vec![found])), @r#"{"format":"preflight-v1-json","executionStatus":"completed","risks":[{"name":"PermissionsMissing","message":"The permission disks.create is missing.","url":"https://platform.example/permissions","targetVersion":"5.2.0","severity":"critical","remediation":"Grant it.","check":"cloud-credential","reason":"PreflightValidation"}]}"#);
    }

    #[test]
    fn result_without_findings_has_named_warning() {
        insta::assert_snapshot!(result(Err(CannotTell::because("unknown cause"))), @r#"{"format":"preflight-v1-json","executionStatus":"failed","message":"unknown cause","risks":[{"name":"CloudCredentialCompatibilityUnknown","message":"Compatibility of cloud-credential with 5.2.0 is unknown: unknown cause.","targetVersion":"5.2.0","severity":"warning","remediation":"Resolve the cause; Fairway retries the check","check":"cloud-credential","reason":"PreflightPartial"}]}"#);
        let skew = result(Err(CannotTell::VersionSkew("too far".to_owned())));
        assert!(skew.contains(r#""name":"CloudCredentialVersionSkew""#), "{skew}");
        assert!(skew.contains(r#""reason":"PreflightVersionSkew""#), "{skew}");
    }

    #[test]
    fn findings_beyond_limit_keep_most_severe() {
        let mut found = vec![Finding::warning("Warning", ""); 150];
        found.push(Finding::critical("Critical", ""));
        let retained = truncated("network", found);
        assert_eq!(retained.len(), MAX_FINDINGS);
        assert_eq!(retained[0].name, "Critical");
        let last = retained.last().unwrap();
        assert_eq!(last.name, "NetworkMoreFindings");
        assert_eq!(last.message, "52 more findings are not shown.");
        assert_eq!(last.severity, Severity::Warning);
    }
}
