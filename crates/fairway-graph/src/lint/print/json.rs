//! For scripts: a versioned shape of our own.
//!
//! ```json
//! { "kind": "GraphDataLint", "version": 1,
//!   "summary": { "errors": 1, "warnings": 0, "notes": 0 },
//!   "findings": [ { "rule": "promql", "severity": "error",
//!       "file": "blocked-edges/5.1.0-Risk.yaml",
//!       "start": { "line": 9, "column": 13 }, "end": { "line": 9, "column": 18 },
//!       "message": "…", "help": "…", "subject": "Risk", "alsoIn": [] } ] }
//! ```
//!
//! `start` and `end` are missing where a finding is about a file as a whole, `help` where nobody
//! knows any. The version changes when a field changes its meaning or goes away; new ones may
//! come.

use serde::Serialize;

use crate::data::{Position, Severity};
use crate::lint::{Finding, Report};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    kind: &'static str,
    version: u32,
    summary: Summary,
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    notes: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    rule: &'static str,
    severity: &'static str,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Position>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<Position>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    subject: &'a str,
    also_in: &'a [String],
}

/// All findings as JSON.
pub fn json(report: &Report) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&Document {
        kind: "GraphDataLint",
        version: 1,
        summary: Summary {
            errors: report.count(Severity::Error) + report.count(Severity::Open),
            warnings: report.count(Severity::Warning),
            notes: report.count(Severity::Note),
        },
        findings: report.findings.iter().map(entry).collect(),
    })
}

fn entry(finding: &Finding) -> Entry<'_> {
    Entry {
        rule: finding.rule.id,
        severity: super::level(finding.severity),
        file: &finding.file,
        start: finding.region.as_ref().map(|region| region.start),
        end: finding.region.as_ref().map(|region| region.end),
        message: &finding.message,
        help: finding.help.as_deref(),
        subject: &finding.subject,
        also_in: &finding.also,
    }
}
