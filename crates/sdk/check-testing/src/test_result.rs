//! Result of a check in a test.

use std::fmt;

use fairway_findings::check_result::CheckResult;
use fairway_findings::{ExecutionStatus, Finding};

/// Result of a check. Its display has no times, so that snapshots are stable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "inspect the result of the check"]
pub struct TestResult {
    result: CheckResult,
}

impl TestResult {
    pub(crate) fn new(result: CheckResult) -> Self {
        Self { result }
    }

    /// The result in the protocol's format.
    pub fn check_result(&self) -> &CheckResult {
        &self.result
    }

    /// Findings of the check.
    pub fn findings(&self) -> &[Finding] {
        &self.result.risks
    }

    /// Names of the findings.
    pub fn names(&self) -> Vec<&str> {
        self.result.risks.iter().map(|finding| finding.name.as_str()).collect()
    }

    /// Whether the check completed without findings.
    pub fn is_clean(&self) -> bool {
        self.result.execution_status == ExecutionStatus::Completed && self.result.risks.is_empty()
    }

    /// Why the check has no result, if it has none.
    pub fn cannot_tell(&self) -> Option<&str> {
        let failed = self.result.execution_status == ExecutionStatus::Failed;
        failed.then_some(self.result.message.as_str())
    }
}

impl fmt::Display for TestResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cannot_tell() {
            Some(why) => writeln!(f, "no result: {why}")?,
            None if self.result.risks.is_empty() => writeln!(f, "no findings")?,
            None => {}
        }
        for finding in &self.result.risks {
            writeln!(f, "{} {}: {}", finding.severity, finding.name, finding.message)?;
            for (what, text) in [("remediation", &finding.remediation), ("url", &finding.url)] {
                if !text.is_empty() {
                    writeln!(f, "  {what}: {text}")?;
                }
            }
        }
        Ok(())
    }
}
