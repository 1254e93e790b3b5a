//! Outcome of a check, and findings for checks without a result.

use std::cmp::Reverse;

use fairway_api::Version;
use fairway_findings::{CheckStatus, Finding, Reason, Severity, camel_case};

use super::RunIdentity;

/// Number of minor versions that checks support: an update may skip one.
const MAX_MINORS: u64 = 2;

/// Outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The check has a result.
    Completed {
        /// Findings.
        findings: Vec<Finding>,
        /// What the result does not cover.
        not_covered: String,
    },
    /// The check does not apply to this cluster.
    Skipped(String),
    /// The check has no result.
    NoResult {
        /// Status of the check.
        status: CheckStatus,
        /// Why there is no result.
        why: String,
        /// Findings before the failure.
        findings: Vec<Finding>,
    },
}

impl CheckOutcome {
    /// An outcome without a result.
    pub fn no_result(status: CheckStatus, why: impl Into<String>) -> Self {
        Self::NoResult { status, why: why.into(), findings: Vec::new() }
    }

    pub(super) fn status(&self) -> CheckStatus {
        match self {
            Self::Completed { findings, .. } if findings.is_empty() => CheckStatus::Passed,
            Self::Completed { .. } => CheckStatus::Found,
            Self::Skipped(_) => CheckStatus::Skipped,
            Self::NoResult { status, .. } => *status,
        }
    }

    /// Converts the outcome of checks whose versions are too far apart: no result then means
    /// version skew.
    pub(super) fn about(self, identity: &RunIdentity) -> Self {
        match self {
            Self::NoResult { status: CheckStatus::CannotTell, why, findings }
                if identity.is_beyond_support() =>
            {
                Self::NoResult { status: CheckStatus::VersionSkew, why, findings }
            }
            other => other,
        }
    }
}

impl RunIdentity {
    /// Whether the target is further ahead than checks support.
    fn is_beyond_support(&self) -> bool {
        minors_between(&self.source, &self.target) > MAX_MINORS
    }
}

/// Number of minor versions that a target is ahead. The last minor version of a major version is
/// unknown: the first one of the next major version counts as its successor.
fn minors_between(source: &Version, target: &Version) -> u64 {
    match target.major().saturating_sub(source.major()) {
        0 if target.major() == source.major() => target.minor().saturating_sub(source.minor()),
        0 => 0,
        1 => target.minor().saturating_add(1),
        _ => u64::MAX,
    }
}

/// Findings of a check without a result: those it reported, and one for the missing result, unless
/// it reported that itself. Findings of a check that reports missing inputs are reliable; those of
/// a crashed check are not.
pub(super) fn partial(
    check: &str,
    status: CheckStatus,
    why: &str,
    findings: Vec<Finding>,
    identity: &RunIdentity,
) -> Vec<Finding> {
    let is_sure = matches!(status, CheckStatus::CannotTell | CheckStatus::VersionSkew);
    let unsure = |mut finding: Finding| {
        if finding.reason == Reason::PreflightValidation && !is_sure {
            finding.reason = Reason::PreflightPartial;
        }
        finding
    };
    let is_reported = findings.iter().any(|finding| finding.reason != Reason::PreflightValidation);
    let found = findings.into_iter().map(unsure);
    found.chain((!is_reported).then(|| not_known(check, status, why, identity))).collect()
}

fn not_known(check: &str, status: CheckStatus, why: &str, identity: &RunIdentity) -> Finding {
    let RunIdentity { source, target, .. } = identity;
    let (reason, suffix) = match status {
        CheckStatus::VersionSkew => (Reason::PreflightVersionSkew, "VersionSkew"),
        _ => (Reason::PreflightPartial, "CheckFailed"),
    };
    let message = match status {
        CheckStatus::VersionSkew => {
            format!("Check {check} cannot compare {source} with {target}: {why}")
        }
        _ => format!("Check {check} of {target} has no result: {why}"),
    };
    Finding {
        name: format!("{}{suffix}", camel_case(check)),
        message,
        target_version: target.to_string(),
        severity: Severity::Warning,
        remediation: remedy(status).to_owned(),
        check: check.to_owned(),
        reason,
        ..Finding::default()
    }
}

fn remedy(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::VersionSkew => {
            "Run a preflight of an intermediate release, and update in several hops: fairway \
             upgrade --mode=preflight --to=VERSION"
        }
        CheckStatus::TimedOut => {
            "Find out why the check is slow, for example in its log. Fairway retries the check"
        }
        CheckStatus::NotStarted => {
            "Resolve the cause; Fairway retries the check. To see quota and events: kubectl -n \
             openshift-cluster-version-preflight get events"
        }
        CheckStatus::Failed | CheckStatus::Refused | CheckStatus::AccessRefused => {
            "Report this to the maintainer of the component"
        }
        _ => "Resolve the cause; Fairway retries the check",
    }
}

/// Maximum bytes of a check's findings as JSON. Those of 64 components fit into one document.
const MAX_FINDINGS_BYTES: usize = 12 << 10;

/// Maximum bytes of a check's message.
const MAX_MESSAGE_BYTES: usize = 1 << 10;

/// Truncates findings to the limit. Retains the most severe ones and adds one for the rest.
pub(super) fn fit_findings(check: &str, mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let mut used = 0;
    let fits = |finding: &&Finding| {
        used += serde_json::to_vec(finding).map_or(MAX_FINDINGS_BYTES, |json| json.len());
        used <= MAX_FINDINGS_BYTES
    };
    let count = findings.iter().take_while(fits).count();
    let rest = findings.split_off(count);
    findings.extend(stand_in(check, &rest));
    findings
}

fn stand_in(check: &str, rest: &[Finding]) -> Option<Finding> {
    let worst = rest.iter().map(|finding| finding.severity).max()?;
    let count = rest.len();
    Some(Finding {
        name: format!("{}FindingsDropped", camel_case(check)),
        message: format!(
            "{count} more findings of check {check} are omitted because they exceed the size limit"
        ),
        severity: worst.max(Severity::Warning),
        remediation: "Report this to the maintainer of the component".to_owned(),
        ..Finding::default()
    })
}

/// Truncates a message.
pub(super) fn fit_message(text: &str) -> String {
    fairway_text::excerpt(text, MAX_MESSAGE_BYTES).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minors_between_versions() {
        for (source, target, expected) in [
            ("5.0.0", "5.0.3", 0),
            ("5.0.0", "5.2.0", 2),
            ("5.0.0", "5.3.0", 3),
            ("5.3.0", "5.0.0", 0),
            ("4.22.0", "5.0.0", 1),
            ("4.22.0", "5.1.0", 2),
            ("4.22.0", "5.2.0", 3),
            ("4.22.0", "6.0.0", u64::MAX),
            ("5.0.0", "4.22.0", 0),
        ] {
            let version = |text: &str| Version::parse(text).unwrap();
            assert_eq!(
                minors_between(&version(source), &version(target)),
                expected,
                "{source} {target}"
            );
        }
    }

    fn finding(name: &str, bytes: usize, severity: Severity) -> Finding {
        let (name, message) = (name.to_owned(), "x".repeat(bytes));
        Finding { name, message, severity, ..Finding::default() }
    }

    #[test]
    fn findings_beyond_limit_keep_most_severe() {
        let few = vec![finding("A", 10, Severity::Info), finding("B", 10, Severity::Critical)];
        let names = |findings: &[Finding]| -> Vec<String> {
            findings.iter().map(|finding| finding.name.clone()).collect()
        };
        assert_eq!(names(&fit_findings("network", few)), ["B", "A"]);
        let mut many: Vec<_> = (0..100).map(|_| finding("Small", 1000, Severity::Info)).collect();
        many.push(finding("Worst", 1000, Severity::Critical));
        let retained = fit_findings("network", many);
        assert_eq!((retained[0].name.as_str(), retained.len()), ("Worst", 11 + 1));
        let last = retained.last().unwrap();
        assert_eq!(
            (last.name.as_str(), last.severity),
            ("NetworkFindingsDropped", Severity::Warning)
        );
        insta::assert_snapshot!(last.message, @"90 more findings of check network are omitted because they exceed the size limit");
    }

    #[test]
    fn findings_larger_than_limit_are_counted() {
        let retained = fit_findings("a", vec![finding("Endless", 1 << 20, Severity::Critical)]);
        assert_eq!(
            (retained[0].name.as_str(), retained[0].severity),
            ("AFindingsDropped", Severity::Critical)
        );
        assert_eq!(fit_message(&"ü".repeat(1000)).chars().count(), 513);
    }
}
