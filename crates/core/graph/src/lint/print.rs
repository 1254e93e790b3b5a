//! Formats of a lint report: text, JSON and SARIF.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use fairway_text::counted;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::data::{Position, Severity};
use crate::files::Files;
use crate::lint::{FileRegion, LintFinding, LintReport, LintRule, rules};

/// Findings about graph-data.
#[derive(Serialize, JsonSchema)]
pub struct Document<'a> {
    /// Numbers of findings.
    summary: Summary,
    /// Findings, sorted by file.
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
    /// Path of the file, relative to the graph-data directory.
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

/// The report as a JSON document. The caller adds `apiVersion` and `kind`.
pub fn json(report: &LintReport) -> Document<'_> {
    Document {
        summary: Summary {
            errors: report.count(Severity::Error) + report.count(Severity::Open),
            warnings: report.count(Severity::Warning),
            notes: report.count(Severity::Note),
        },
        findings: report.findings.iter().map(entry).collect(),
    }
}

fn entry(finding: &LintFinding) -> Entry<'_> {
    Entry {
        rule: finding.rule.id,
        severity: level_name(finding.severity),
        file: &finding.file,
        start: finding.region.as_ref().map(|region| region.start),
        end: finding.region.as_ref().map(|region| region.end),
        message: &finding.message,
        remediation: finding.help.as_deref(),
        subject: &finding.subject,
        other_files: &finding.also,
    }
}

/// Severity in JSON and SARIF.
fn level_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error | Severity::Open => "error",
    }
}

/// The report as a SARIF 2.1.0 log, which code review systems show beside the changed lines. Paths
/// are relative to the graph-data directory.
pub fn sarif(report: &LintReport) -> serde_json::Result<String> {
    let rules = rules();
    let results: Vec<Value> = report.findings.iter().map(|found| result(found, &rules)).collect();
    serde_json::to_string_pretty(&json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "fairway graph lint",
                "rules": rules.iter().map(|rule| described(rule)).collect::<Vec<_>>(),
            } },
            // The default unit of columns is UTF-16 code units.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

fn described(rule: &LintRule) -> Value {
    json!({ "id": rule.id, "shortDescription": { "text": rule.summary } })
}

fn result(finding: &LintFinding, rules: &[&LintRule]) -> Value {
    let text = match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "ruleId": finding.rule.id,
        "level": level_name(finding.severity),
        "message": { "text": text },
        "locations": [location(&finding.file, finding.region.as_ref())],
        "partialFingerprints": { "subject/v1": format!("{}: {}", finding.subject, finding.message) },
    });
    if let Some(index) = rules.iter().position(|rule| *rule == finding.rule) {
        result["ruleIndex"] = index.into();
    }
    if !finding.also.is_empty() {
        let related: Vec<Value> = finding.also.iter().map(|file| location(file, None)).collect();
        result["relatedLocations"] = related.into();
    }
    result
}

fn location(file: &str, region: Option<&FileRegion>) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": file } });
    if let Some(FileRegion { start, end, .. }) = region {
        place["region"] = json!({
            "startLine": start.line, "startColumn": start.column,
            "endLine": end.line, "endColumn": end.column,
        });
    }
    json!({ "physicalLocation": place })
}

/// Number of other files that are listed by name.
const MAX_FILES: usize = 3;

/// Use of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No colours.
    Plain,
    /// ANSI colours.
    Coloured,
}

/// The report as text: findings with excerpts of `files`, and a summary.
pub fn text(report: &LintReport, files: &Files, style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&renderer.render(&[snippet(finding, files)]));
        text.push_str("\n\n");
    }
    text.push_str(&summary(report));
    text
}

fn snippet<'a>(finding: &'a LintFinding, files: &'a Files) -> Group<'a> {
    let title = level(finding.severity).primary_title(finding.message.as_str()).id(finding.rule.id);
    let source = files.get(&finding.file).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let mut group = match (source, &finding.region) {
        (Some(source), Some(region)) => {
            let place = AnnotationKind::Primary.span(region.span.clone());
            title.element(Snippet::source(source).path(finding.file.as_str()).annotation(place))
        }
        _ => title.element(Origin::path(finding.file.as_str())),
    };
    if !finding.also.is_empty() {
        group = group.element(Level::NOTE.message(also(&finding.also)));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Note => Level::NOTE,
        Severity::Warning => Level::WARNING,
        Severity::Error | Severity::Open => Level::ERROR,
    }
}

fn also(files: &[String]) -> String {
    let listed = files.iter().take(MAX_FILES).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(MAX_FILES) {
        0 => format!("also in {listed}"),
        others => format!("also in {listed} and {others} more"),
    }
}

fn summary(report: &LintReport) -> String {
    let errors = report.count(Severity::Error) + report.count(Severity::Open);
    let counts = [
        (errors, "error"),
        (report.count(Severity::Warning), "warning"),
        (report.count(Severity::Note), "note"),
    ];
    let counted: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| counted(*count, what))
        .collect();
    if counted.is_empty() {
        "no findings\n".to_owned()
    } else {
        format!("{}\n", counted.join(", "))
    }
}
