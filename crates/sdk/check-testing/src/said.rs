//! What a check has said.

use std::fmt;

use fairway_findings::answer::Answer;
use fairway_findings::{ExecutionStatus, Finding};

/// What a check has said. Printed, it is for snapshots: it has no times in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "inspect the result of the check"]
pub struct Said {
    answer: Answer,
}

impl Said {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { answer }
    }

    /// Its answer, as a release reads it.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// What it has found.
    pub fn findings(&self) -> &[Finding] {
        &self.answer.risks
    }

    /// The names of that.
    pub fn names(&self) -> Vec<&str> {
        self.answer.risks.iter().map(|finding| finding.name.as_str()).collect()
    }

    /// Whether it has looked at everything, and found nothing.
    pub fn is_clean(&self) -> bool {
        self.answer.execution_status == ExecutionStatus::Completed && self.answer.risks.is_empty()
    }

    /// Why it cannot tell, if it cannot.
    pub fn cannot_tell(&self) -> Option<&str> {
        let failed = self.answer.execution_status == ExecutionStatus::Failed;
        failed.then_some(self.answer.message.as_str())
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cannot_tell() {
            Some(why) => writeln!(f, "no result: {why}")?,
            None if self.answer.risks.is_empty() => writeln!(f, "no findings")?,
            None => {}
        }
        for finding in &self.answer.risks {
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
