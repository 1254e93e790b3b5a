//! For code review systems: SARIF 2.1.0, the format that they show beside the changed lines.

use serde_json::{Value, json};

use crate::lint::{Finding, Region, Report, Rule, rules};

/// All findings as a SARIF log. Paths in it are relative to the graph-data directory.
pub fn sarif(report: &Report) -> serde_json::Result<String> {
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
            // Columns are counted in characters, not in the UTF-16 units that are the default.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

fn described(rule: &Rule) -> Value {
    json!({ "id": rule.id, "shortDescription": { "text": rule.summary } })
}

fn result(finding: &Finding, rules: &[&Rule]) -> Value {
    let text = match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "ruleId": finding.rule.id,
        "level": super::level(finding.severity),
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

fn location(file: &str, region: Option<&Region>) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": file } });
    if let Some(Region { start, end, .. }) = region {
        place["region"] = json!({
            "startLine": start.line, "startColumn": start.column,
            "endLine": end.line, "endColumn": end.column,
        });
    }
    json!({ "physicalLocation": place })
}
