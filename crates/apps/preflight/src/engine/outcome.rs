//! How a check ended, and what stands for an answer that it did not give.

use fairway_api::Version;
use fairway_findings::{CheckStatus, Finding, Reason, Severity, camel_case};

use super::Identity;

/// How many minor versions a check is made to look back: an update may skip one.
const MINORS: u64 = 2;

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has an answer.
    Answered {
        /// What it has found.
        findings: Vec<Finding>,
        /// What the answer does not cover.
        left_out: String,
    },
    /// It does not concern this cluster.
    Skipped(String),
    /// It has no answer.
    Unanswered {
        /// What became of it.
        status: CheckStatus,
        /// Why.
        why: String,
        /// What it has found before that.
        findings: Vec<Finding>,
    },
}

impl Outcome {
    /// No answer, for that reason.
    pub fn unanswered(status: CheckStatus, why: impl Into<String>) -> Self {
        Self::Unanswered { status, why: why.into(), findings: Vec::new() }
    }

    pub(super) fn status(&self) -> CheckStatus {
        match self {
            Self::Answered { findings, .. } if findings.is_empty() => CheckStatus::Passed,
            Self::Answered { .. } => CheckStatus::Found,
            Self::Skipped(_) => CheckStatus::Skipped,
            Self::Unanswered { status, .. } => *status,
        }
    }

    /// The same, of versions that may be further apart than checks are made for: who cannot tell
    /// then cannot compare.
    pub(super) fn about(self, identity: &Identity) -> Self {
        match self {
            Self::Unanswered { status: CheckStatus::CannotTell, why, findings }
                if identity.is_far() =>
            {
                Self::Unanswered { status: CheckStatus::VersionSkew, why, findings }
            }
            other => other,
        }
    }
}

impl Identity {
    /// Whether the release is further ahead than checks are made for.
    fn is_far(&self) -> bool {
        minors_between(&self.source, &self.target) > MINORS
    }
}

/// How many minor versions a target is ahead. Nobody knows the last one of a major version: its
/// first minor version counts as the next.
fn minors_between(source: &Version, target: &Version) -> u64 {
    match target.major().saturating_sub(source.major()) {
        0 if target.major() == source.major() => target.minor().saturating_sub(source.minor()),
        0 => 0,
        1 => target.minor().saturating_add(1),
        _ => u64::MAX,
    }
}

/// What stands for the answer of a check that gave none: what it did find, and that it is not all,
/// unless it says so itself. Who knows that it cannot tell one thing is sure of the others; who
/// broke down is sure of nothing.
pub(super) fn partial(
    check: &str,
    status: CheckStatus,
    why: &str,
    findings: Vec<Finding>,
    identity: &Identity,
) -> Vec<Finding> {
    let is_sure = matches!(status, CheckStatus::CannotTell | CheckStatus::VersionSkew);
    let unsure = |mut finding: Finding| {
        if finding.reason == Reason::PreflightValidation && !is_sure {
            finding.reason = Reason::PreflightPartial;
        }
        finding
    };
    let says_so = findings.iter().any(|finding| finding.reason != Reason::PreflightValidation);
    let found = findings.into_iter().map(unsure);
    found.chain((!says_so).then(|| not_known(check, status, why, identity))).collect()
}

fn not_known(check: &str, status: CheckStatus, why: &str, identity: &Identity) -> Finding {
    let Identity { source, target, .. } = identity;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_target_is_ahead() {
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
}
