//! Warnings about text that decodes to another value than it suggests, or that other YAML readers
//! treat differently.

use std::fmt;

use serde::Serialize;

use crate::limits::MAX_ODDITIES;

/// Text that the Kubernetes decoder accepts, and that other YAML readers refuse or read differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Oddity {
    /// The line, counted from one.
    pub line: u64,
    /// The kind of oddity.
    #[serde(flatten)]
    pub kind: OddityKind,
}

impl Oddity {
    /// Adds the number of lines in front of the document.
    pub(crate) fn move_down(&mut self, lines: u64) {
        self.line += lines;
        if let OddityKind::DuplicateKey { first_line, .. } = &mut self.kind {
            *first_line += lines;
        }
    }
}

/// The kinds of oddities.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "oddity")]
pub enum OddityKind {
    /// A key that the mapping already has; the last value wins.
    DuplicateKey {
        /// The key.
        key: String,
        /// The line of the value that is overwritten.
        first_line: u64,
    },
    /// A merge key that overwrites a value in front of it. YAML 1.1 gives explicit keys precedence.
    MergeOverride {
        /// The key.
        key: String,
    },
    /// A quoted scalar with a continuation line that is not indented deeper than its parent.
    QuotedIndentation,
    /// A plain word that YAML 1.1 reads as a boolean and YAML 1.2 as text.
    BooleanWord {
        /// The word.
        word: String,
        /// The value it decodes to.
        value: bool,
    },
    /// A plain number that readers of other YAML versions decode to another value.
    AmbiguousNumber {
        /// The number.
        text: String,
        /// The value it decodes to, as JSON.
        value: String,
    },
    /// An integer that fits no 64-bit integer and loses precision as a float.
    ImpreciseNumber {
        /// The number.
        text: String,
    },
    /// A number or boolean as a key, which becomes text.
    NonStringKey {
        /// The text it becomes.
        key: String,
    },
    /// A tag that is ignored.
    IgnoredTag {
        /// The tag.
        tag: String,
    },
    /// Content behind the end of the document, which is ignored.
    IgnoredContent,
    /// A tab between tokens, which YAML does not allow for indentation.
    Tab,
    /// A byte order mark in front of the document.
    ByteOrderMark,
    /// More oddities than are reported.
    Omitted {
        /// How many.
        count: usize,
    },
}

/// Sorts oddities by line, and limits their number. `uncounted` were dropped before.
pub(crate) fn limited(mut oddities: Vec<Oddity>, uncounted: usize) -> Vec<Oddity> {
    oddities.sort_by_key(|oddity| oddity.line);
    let count = oddities.len() + uncounted;
    if count > MAX_ODDITIES {
        oddities.truncate(MAX_ODDITIES);
        // The note takes the place of the last one.
        if let Some(last) = oddities.last_mut() {
            last.kind = OddityKind::Omitted { count: count + 1 - MAX_ODDITIES };
        }
    }
    oddities
}

impl fmt::Display for OddityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateKey { key, first_line } => {
                write!(f, "duplicate key {key:?} overrides line {first_line}")
            }
            Self::MergeOverride { key } => {
                write!(f, "merge key << overrides {key:?}, which is set before it")
            }
            Self::QuotedIndentation => {
                f.write_str("quoted scalar continues without deeper indentation")
            }
            Self::BooleanWord { word, value } => {
                write!(f, "unquoted {word} is the boolean {value}")
            }
            Self::AmbiguousNumber { text, value } => write!(f, "unquoted {text} is {value}"),
            Self::ImpreciseNumber { text } => {
                write!(f, "{text} exceeds 64 bits and loses precision")
            }
            Self::NonStringKey { key } => write!(f, "key {key} is not a string"),
            Self::IgnoredTag { tag } => write!(f, "tag {tag} is ignored"),
            Self::IgnoredContent => f.write_str("content after the document end is ignored"),
            Self::Tab => f.write_str("tab used as indentation or separator"),
            Self::ByteOrderMark => f.write_str("byte order mark"),
            Self::Omitted { count } => write!(f, "{count} more warnings omitted"),
        }
    }
}
