//! What a rule found.

use std::ops::Range;

use crate::data::{Position, Severity};

/// A rule: what is looked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, for people who look it up and for machines.
    pub id: &'static str,
    /// What is wrong where it finds something.
    pub summary: &'static str,
}

/// Something that a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// How much it matters.
    pub severity: Severity,
    /// The file, below the graph-data directory.
    pub file: String,
    /// Where in the file, unless it is about all of it.
    pub region: Option<Region>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// What it is about. With the rule and the message it is what makes two findings the same one,
    /// wherever they are.
    pub subject: String,
    /// Other files of which the same is true.
    pub also: Vec<String>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// In bytes.
    pub span: Range<usize>,
    /// Where it begins.
    pub start: Position,
    /// Where it ends.
    pub end: Position,
}

impl Region {
    /// A part of a text. It is at least one character long, where there is one.
    pub(super) fn of(text: &str, span: Range<usize>) -> Self {
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

impl Finding {
    /// With what to do about it.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// About something that is not tied to its file.
    pub(super) fn about(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// Also true of other files.
    pub(super) fn also(mut self, files: Vec<String>) -> Self {
        self.also = files;
        self
    }
}

impl Rule {
    /// A finding in a file as a whole.
    pub(super) fn in_file(
        &'static self,
        severity: Severity,
        file: &str,
        message: impl Into<String>,
    ) -> Finding {
        Finding {
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
