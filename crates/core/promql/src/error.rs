//! Parse errors with their position.

use std::fmt;
use std::ops::Range;

use crate::limits;

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    /// Byte offset.
    pub offset: usize,
    /// Line, counted from one.
    pub line: usize,
    /// Column in characters, counted from one.
    pub column: usize,
}

impl TextPosition {
    /// The position of a byte offset, limited to the end of the text.
    pub fn new(text: &str, offset: usize) -> Self {
        let offset = text.floor_char_boundary(offset);
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            offset,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A query that Prometheus would reject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {problem}")]
pub struct ParseError {
    /// The problem.
    pub problem: ParseProblem,
    /// Byte range of the invalid part.
    pub span: Range<usize>,
    /// Start of the invalid part.
    pub position: TextPosition,
}

impl ParseError {
    pub(crate) fn new(text: &str, span: Range<usize>, problem: ParseProblem) -> Self {
        let position = TextPosition::new(text, span.start);
        Self { problem, span, position }
    }
}

/// A problem of a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseProblem {
    /// The query is empty.
    #[error("the query is empty")]
    Empty,
    /// The query is too long.
    #[error("the query has {0} bytes; the limit is {most} bytes", most = limits::MAX_BYTES)]
    TooLong(usize),
    /// Brackets are nested too deeply.
    #[error("brackets are nested more than {most} levels deep", most = limits::MAX_DEPTH)]
    TooDeep,
    /// The query has too many operators.
    #[error("more than {most} operators", most = limits::MAX_OPERATORS)]
    TooManyOperators,
    /// The query has too many selectors.
    #[error("more than {most} selectors", most = limits::MAX_SELECTORS)]
    TooManySelectors,
    /// The query has too many label matchers.
    #[error("more than {most} label matchers", most = limits::MAX_MATCHERS)]
    TooManyMatchers,
    /// A string is not terminated.
    #[error("unterminated string, opened with {0}")]
    UnclosedText(char),
    /// An escape sequence is unknown.
    #[error("\\{0} is not an escape sequence; use \\\\ for a backslash")]
    UnknownEscape(char),
    /// An escape sequence is a part of a UTF-8 character.
    #[error(
        "incomplete escape of a character; use the character itself, or \\u and its code point"
    )]
    ByteEscape,
    /// A character is not part of PromQL.
    #[error("unexpected character {0:?}")]
    UnexpectedCharacter(char),
    /// A bracket is not closed.
    #[error("unclosed {0}")]
    Unclosed(char),
    /// A closing bracket has no opening one.
    #[error("unmatched {0}")]
    NotOpened(char),
    /// A token is not valid at its position.
    #[error("unexpected {0}")]
    Unexpected(String),
    /// The query is incomplete.
    #[error("unexpected end of the query")]
    UnexpectedEnd,
    /// The function does not exist.
    #[error("unknown function {0:?}")]
    UnknownFunction(String),
    /// The construct is experimental.
    #[error("{0} is experimental; Prometheus rejects it by default")]
    Experimental(String),
    /// `or` between label matchers, an extension of other query languages.
    #[error("`or` between label matchers is not valid PromQL; use =~ with alternatives")]
    OrBetweenLabels,
    /// A name is quoted.
    #[error("older versions of Prometheus reject a quoted name; remove the quotes")]
    QuotedName,
    /// A duration is used as a number.
    #[error(
        "older versions of Prometheus reject the duration {0:?} here; use a number such as 300"
    )]
    NumberExpected(String),
    /// The number after `@` is not a time.
    #[error("{0:?} is not a Unix time in seconds")]
    Point(String),
    /// A duration has no unit, or is too large.
    #[error("{0:?} is not a duration such as 5m or 1h30m")]
    Duration(String),
    /// A regular expression is invalid or too large.
    #[error("{pattern:?} is not a supported regular expression: {reason}")]
    Regex {
        /// The regular expression.
        pattern: String,
        /// Error of the compiler.
        reason: String,
    },
    /// A selector would read all series.
    #[error("a selector requires a metric name or a matcher that does not match the empty string")]
    SelectsEverything,
    /// Scalars are compared without `bool`.
    #[error("comparisons between scalars require `bool`, such as 1 == bool 2")]
    NumbersCompared,
    /// Types or arguments do not match.
    #[error("{reason}")]
    Mismatch {
        /// Error of the parser.
        reason: String,
    },
}
