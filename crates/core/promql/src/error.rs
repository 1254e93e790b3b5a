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
    #[error("brackets are nested more than {most} deep here", most = limits::MAX_DEPTH)]
    TooDeep,
    /// It has more operators than any that makes sense.
    #[error("a query has at most {most} operators", most = limits::MAX_OPERATORS)]
    TooManyOperators,
    /// It reads more than any that makes sense.
    #[error("a query has at most {most} selectors", most = limits::MAX_SELECTORS)]
    TooManySelectors,
    /// It compares more labels than any that makes sense.
    #[error("a query compares at most {most} labels", most = limits::MAX_MATCHERS)]
    TooManyMatchers,
    /// A quoted text has no end.
    #[error("the text that begins here with {quote} never ends")]
    UnclosedText {
        /// The quotation mark.
        quote: char,
    },
    /// A backslash escapes what needs no escape.
    #[error("\\{character} is no escape sequence; write \\\\ for a backslash")]
    UnknownEscape {
        /// What follows the backslash.
        character: char,
    },
    /// An escape means a part of a character.
    #[error(
        "this escape is a part of a character; write the character itself, or \\u and its number"
    )]
    ByteEscape,
    /// A character that means nothing in PromQL.
    #[error("{character:?} cannot stand here")]
    UnexpectedCharacter {
        /// The character.
        character: char,
    },
    /// A bracket is never closed.
    #[error("this {bracket} is never closed")]
    Unclosed {
        /// The bracket.
        bracket: char,
    },
    /// A bracket is closed that is not open.
    #[error("this {bracket} closes nothing")]
    NotOpened {
        /// The bracket.
        bracket: char,
    },
    /// A word or symbol that cannot follow what stands before it.
    #[error("{found} cannot stand here")]
    Unexpected {
        /// The word or symbol.
        found: String,
    },
    /// More had to follow.
    #[error("the query ends where something has to follow")]
    UnexpectedEnd,
    /// There is no such function.
    #[error("there is no function {name:?}")]
    UnknownFunction {
        /// Its name.
        name: String,
    },
    /// It is not in every Prometheus.
    #[error("{what} is experimental, and a cluster's Prometheus refuses it")]
    Experimental {
        /// The function or operator.
        what: String,
    },
    /// It is in other query languages that are like PromQL.
    #[error("`or` between labels is not in PromQL; use =~ with alternatives")]
    OrBetweenLabels,
    /// A name stands in quotes.
    #[error("a name in quotes is refused by older Prometheus; write it without quotes")]
    QuotedName,
    /// A number has to stand where a duration does.
    #[error("{duration:?} is a duration, and older Prometheus wants a number here, such as 300")]
    NumberExpected {
        /// The duration.
        duration: String,
    },
    /// The number after `@` is no time.
    #[error("{number:?} is no time in seconds since 1970")]
    Point {
        /// The number.
        number: String,
    },
    /// A number has no unit, or is too large to be a time.
    #[error("{number:?} is no duration such as 5m or 1h30m")]
    Duration {
        /// The number.
        number: String,
    },
    /// A regular expression is wrong, or too large once it is compiled.
    #[error("{pattern:?} is no regular expression that can be used: {reason}")]
    Regex {
        /// The expression.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A selector that would read every series of the cluster.
    #[error("a selector needs a name, or a label that may not be empty")]
    SelectsEverything,
    /// Two numbers are compared without `bool`.
    #[error("two numbers are compared with `bool`, such as 1 == bool 2")]
    NumbersCompared,
    /// The parts do not fit together.
    #[error("{reason}")]
    Mismatch {
        /// How.
        reason: String,
    },
}
