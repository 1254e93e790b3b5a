//! What is wrong with a query, and where.

use std::fmt;
use std::ops::Range;

use crate::limits;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Bytes from the beginning.
    pub offset: usize,
    /// The line, counted from one.
    pub line: usize,
    /// The character within the line, counted from one.
    pub column: usize,
}

impl Position {
    /// The place that many bytes after the beginning, or the end of a shorter text.
    pub fn of(text: &str, offset: usize) -> Self {
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

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a text is no query that Prometheus would run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {problem}")]
pub struct ParseError {
    /// What is wrong.
    pub problem: Problem,
    /// The part that is wrong, in bytes.
    pub span: Range<usize>,
    /// Where that part begins.
    pub position: Position,
}

impl ParseError {
    pub(crate) fn new(text: &str, span: Range<usize>, problem: Problem) -> Self {
        let position = Position::of(text, span.start);
        Self { problem, span, position }
    }
}

/// What can be wrong with a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is nothing in it.
    #[error("the query is empty")]
    Empty,
    /// It is longer than any that makes sense.
    #[error("the query has {length} bytes; the limit is {most} bytes", most = limits::MAX_BYTES)]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// Brackets nest deeper than anybody can read.
    #[error("brackets are nested more than {most} levels deep", most = limits::MAX_DEPTH)]
    TooDeep,
    /// It has more operators than any that makes sense.
    #[error("more than {most} operators", most = limits::MAX_OPERATORS)]
    TooManyOperators,
    /// It reads more than any that makes sense.
    #[error("more than {most} selectors", most = limits::MAX_SELECTORS)]
    TooManySelectors,
    /// It compares more labels than any that makes sense.
    #[error("more than {most} label matchers", most = limits::MAX_MATCHERS)]
    TooManyMatchers,
    /// A quoted text has no end.
    #[error("unterminated string, opened with {quote}")]
    UnclosedText {
        /// The quotation mark.
        quote: char,
    },
    /// A backslash escapes what needs no escape.
    #[error("\\{character} is not an escape sequence; use \\\\ for a backslash")]
    UnknownEscape {
        /// What follows the backslash.
        character: char,
    },
    /// An escape means a part of a character.
    #[error(
        "incomplete escape of a character; use the character itself, or \\u and its code point"
    )]
    ByteEscape,
    /// A character that means nothing in PromQL.
    #[error("unexpected character {character:?}")]
    UnexpectedCharacter {
        /// The character.
        character: char,
    },
    /// A bracket is never closed.
    #[error("unclosed {bracket}")]
    Unclosed {
        /// The bracket.
        bracket: char,
    },
    /// A bracket is closed that is not open.
    #[error("unmatched {bracket}")]
    NotOpened {
        /// The bracket.
        bracket: char,
    },
    /// A word or symbol that cannot follow what stands before it.
    #[error("unexpected {found}")]
    Unexpected {
        /// The word or symbol.
        found: String,
    },
    /// More had to follow.
    #[error("unexpected end of the query")]
    UnexpectedEnd,
    /// There is no such function.
    #[error("unknown function {name:?}")]
    UnknownFunction {
        /// Its name.
        name: String,
    },
    /// It is not in every Prometheus.
    #[error("{what} is experimental; Prometheus rejects it by default")]
    Experimental {
        /// The function or operator.
        what: String,
    },
    /// It is in other query languages that are like PromQL.
    #[error("`or` between label matchers is not valid PromQL; use =~ with alternatives")]
    OrBetweenLabels,
    /// A name stands in quotes.
    #[error("older versions of Prometheus reject a quoted name; remove the quotes")]
    QuotedName,
    /// A number has to stand where a duration does.
    #[error(
        "older versions of Prometheus reject the duration {duration:?} here; use a number such as 300"
    )]
    NumberExpected {
        /// The duration.
        duration: String,
    },
    /// The number after `@` is no time.
    #[error("{number:?} is not a Unix time in seconds")]
    Point {
        /// The number.
        number: String,
    },
    /// A number has no unit, or is too large to be a time.
    #[error("{number:?} is not a duration such as 5m or 1h30m")]
    Duration {
        /// The number.
        number: String,
    },
    /// A regular expression is wrong, or too large once it is compiled.
    #[error("{pattern:?} is not a supported regular expression: {reason}")]
    Regex {
        /// The expression.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A selector that would read every series of the cluster.
    #[error("a selector requires a metric name or a matcher that does not match the empty string")]
    SelectsEverything,
    /// Two numbers are compared without `bool`.
    #[error("comparisons between scalars require `bool`, such as 1 == bool 2")]
    NumbersCompared,
    /// The parts do not fit together.
    #[error("{reason}")]
    Mismatch {
        /// How.
        reason: String,
    },
}
