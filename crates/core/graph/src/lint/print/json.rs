//! For scripts: a shape of our own. Whoever prints it says of which kind and version it is.
//!
//! ```json
//! { "summary": { "errors": 1, "warnings": 0, "notes": 0 },
//!   "findings": [ { "rule": "promql", "severity": "error",
//!       "file": "blocked-edges/5.1.0-Risk.yaml",
//!       "start": { "line": 9, "column": 13 }, "end": { "line": 9, "column": 18 },
//!       "message": "…", "help": "…", "subject": "Risk", "alsoIn": [] } ] }
//! ```
//!
//! `start` and `end` are missing where a finding is about a file as a whole, `help` where nobody
//! knows any.

use schemars::JsonSchema;
use serde::Serialize;

use crate::data::{Position, Severity};
use crate::lint::{Finding, Report};

/// Findings about graph-data.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    /// Numbers of findings.
    summary: Summary,
    /// Findings, by file.
    findings: Vec<Entry<'a>>,
}

/// Numbers of findings.
#[derive(Serialize, JsonSchema)]
struct Summary {
    /// Number of errors.
    errors: usize,
    /// Number of warnings.
    warnings: usize,
    /// Number of notes.
    notes: usize,
}

/// Finding about graph-data.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    /// Name of the rule.
    rule: &'static str,
    /// Severity: `note`, `warning` or `error`.
    severity: &'static str,
    /// Path of the file below the graph-data directory.
    file: &'a str,
    /// Start in the file, unless the finding is about the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Position>,
    /// End in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Position>,
    /// Description of the problem.
    message: &'a str,
    /// Instruction that resolves the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    remediation: Option<&'a str>,
    /// Subject of the finding, such as the name of a risk.
    subject: &'a str,
    /// Other files with the same finding.
    other_files: &'a [String],
}

/// All findings, to be written as JSON.
pub fn json(report: &Report) -> Document<'_> {
    Document {
        summary: Summary {
            errors: report.count(Severity::Error) + report.count(Severity::Open),
            warnings: report.count(Severity::Warning),
            notes: report.count(Severity::Note),
        },
        findings: report.findings.iter().map(entry).collect(),
    }
}

fn entry(finding: &Finding) -> Entry<'_> {
    Entry {
        rule: finding.rule.id,
        severity: super::level(finding.severity),
        file: &finding.file,
        start: finding.region.as_ref().map(|region| region.start),
        end: finding.region.as_ref().map(|region| region.end),
        message: &finding.message,
        remediation: finding.help.as_deref(),
        subject: &finding.subject,
        other_files: &finding.also,
    }
}
