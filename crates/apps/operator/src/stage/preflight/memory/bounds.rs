//! How much of a document is taken. Whatever is left out, something stands in for it: nothing that
//! is dropped makes an update recommended.

use fairway_findings::limits::{DROPPED, LOOKED_AT};
use fairway_findings::{Document, ExecutionStatus, Finding, Severity};

use serde::Serialize;

/// Findings of one target. A status has room for 200 risks of an update, and others want some.
const MAX_FINDINGS: usize = 100;

/// Checks of one target: several times as many as any platform has operators.
const MAX_CHECKS: usize = 300;

/// Bytes of a text that people read.
const MAX_TEXT: usize = 2 << 10;

/// Bytes of a document. Two of them and the history fit into a ConfigMap of 1 MiB.
const MAX_BYTES: usize = 400 << 10;

/// As much of a document as is taken: what counts comes first.
pub(super) fn bounded(mut document: Document) -> Document {
    shorten(&mut document.message);
    // What gave no answer is never left out: without it, the rest would look complete.
    document.checks.sort_by_key(|check| check.status.is_answer());
    document.checks.truncate(MAX_CHECKS);
    document.checks.sort_by(|one, other| one.name.cmp(&other.name));
    for check in &mut document.checks {
        shorten(&mut check.message);
        check.looked_at.truncate(LOOKED_AT);
    }
    for found in &mut document.risks {
        shorten(&mut found.message);
        shorten(&mut found.remediation);
    }
    document.risks.sort_by_key(|found| !found.blocks_update());
    let findings = std::mem::take(&mut document.risks);
    let mut room = MAX_BYTES.saturating_sub(size(&document));
    if room == 0 {
        // What is left are checks; a document without them is not complete.
        document.checks.clear();
        document.execution_status = ExecutionStatus::Failed;
    }
    let mut dropped = Vec::new();
    for found in findings {
        let bytes = size(&found);
        if dropped.is_empty() && document.risks.len() < MAX_FINDINGS && bytes < room {
            room -= bytes;
            document.risks.push(found);
        } else {
            dropped.push(found);
        }
    }
    document.risks.extend(stand_in(&dropped));
    document
}

fn stand_in(dropped: &[Finding]) -> Option<Finding> {
    let message = format!(
        "The preflight reports too many findings to show; {} of them are omitted.",
        dropped.len()
    );
    let severity = if dropped.iter().any(Finding::blocks_update) { Severity::Warning } else { Severity::Info };
    let name = DROPPED.to_owned();
    (!dropped.is_empty()).then(|| Finding { name, message, severity, ..Finding::default() })
}

pub(super) fn shorten(text: &mut String) {
    if text.len() > MAX_TEXT {
        *text = fairway_text::excerpt(text, MAX_TEXT).into_owned();
    }
}

fn size(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}
