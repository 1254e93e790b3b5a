//! Lint rules, findings and reports.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::data::{Position, Severity};

/// A lint rule.
#[derive(Debug, PartialEq, Eq)]
pub struct LintRule {
    /// ID, as in output and documentation.
    pub id: &'static str,
    /// Description of the problem that the rule reports.
    pub summary: &'static str,
}

/// A violation of a lint rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintFinding {
    /// The violated rule.
    pub rule: &'static LintRule,
    /// Severity of the finding.
    pub severity: Severity,
    /// Path of the file, relative to the graph-data directory.
    pub file: String,
    /// Part of the file, unless the finding is about the whole file.
    pub region: Option<FileRegion>,
    /// Description of the problem.
    pub message: String,
    /// Instruction that resolves the problem.
    pub help: Option<String>,
    /// Subject of the finding, such as the name of a risk. Rule, subject and message identify a
    /// finding, independent of its position.
    pub subject: String,
    /// Other files with the same problem.
    pub also: Vec<String>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRegion {
    /// Byte range.
    pub span: Range<usize>,
    /// First position.
    pub start: Position,
    /// End position.
    pub end: Position,
}

impl FileRegion {
    /// A part of a text, extended to character boundaries.
    pub(super) fn new(text: &str, span: Range<usize>) -> Self {
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
        Self { span: start..end, start: position(text, start), end: position(text, end) }
    }
}

fn position(text: &str, offset: usize) -> Position {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let count = |part: &str| part.chars().count() as u64 + 1;
    let newlines = before.bytes().filter(|byte| *byte == b'\n').count();
    Position { line: newlines as u64 + 1, column: count(&before[line_start..]) }
}

impl LintFinding {
    /// Adds an instruction that resolves the problem.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets a subject that is independent of the file.
    pub(super) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// Adds other files with the same problem.
    pub(super) fn also(mut self, files: Vec<String>) -> Self {
        self.also = files;
        self
    }
}

impl LintRule {
    /// A finding about a whole file.
    pub(super) fn in_file(
        &'static self,
        severity: Severity,
        file: &str,
        message: impl Into<String>,
    ) -> LintFinding {
        LintFinding {
            rule: self,
            severity,
            file: file.to_owned(),
            region: None,
            message: message.into(),
            help: None,
            subject: file.to_owned(),
            also: Vec::new(),
        }
    }
}

/// The findings of a lint run, sorted by file and position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "findings must be reported"]
pub struct LintReport {
    /// All findings.
    pub findings: Vec<LintFinding>,
}

impl LintReport {
    pub(super) fn new(mut findings: Vec<LintFinding>) -> Self {
        let start = |finding: &LintFinding| finding.region.as_ref().map(|region| region.span.start);
        findings.sort_by(|one, other| {
            let by_file = one.file.cmp(&other.file);
            by_file.then(start(one).cmp(&start(other))).then(one.rule.id.cmp(other.rule.id))
        });
        Self { findings }
    }

    /// The findings that `base` does not have. If `base` has two equal findings and this report
    /// three, one is new.
    pub fn new_since(self, base: &Self) -> Self {
        let mut known: HashMap<Identity, usize> = HashMap::new();
        for finding in &base.findings {
            *known.entry(identity(finding)).or_default() += 1;
        }
        let mut findings = self.findings;
        findings.retain(|finding| match known.get_mut(&identity(finding)) {
            Some(times) if *times > 0 => {
                *times -= 1;
                false
            }
            _ => true,
        });
        Self { findings }
    }

    /// Number of findings of each rule, by ID.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for finding in &self.findings {
            *counts.entry(finding.rule.id).or_default() += 1;
        }
        counts
    }

    /// Highest severity of all findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Number of findings with a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// Identity of a finding: rule, subject and message. Positions may change between two states.
type Identity = (&'static str, String, String);

fn identity(finding: &LintFinding) -> Identity {
    (finding.rule.id, finding.subject.clone(), finding.message.clone())
}
