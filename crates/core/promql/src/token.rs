//! Tokens of a query, and limits that are checked before parsing.
//!
//! The parser returns no positions and does not limit its input. So the text is split into tokens
//! first, with the parser's token boundaries.

use std::ops::Range;

use crate::error::{ParseError, ParseProblem};
use crate::limits;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or keyword.
    Word,
    /// A number or duration.
    Number,
    /// A string with its quotation marks.
    Text,
    /// `(`, `[` or `{`.
    Open(char),
    /// `)`, `]` or `}`.
    Close(char),
    /// Any other symbol.
    Sign,
}

impl Token {
    pub(crate) fn text<'a>(&self, query: &'a str) -> &'a str {
        &query[self.span.clone()]
    }
}

/// Splits a query into tokens.
pub(crate) fn tokens(query: &str) -> Result<Vec<Token>, ParseError> {
    let mut tokens = Vec::new();
    let (mut position, mut in_range) = (0, false);
    while let Some(character) = query[position..].chars().next() {
        let rest = &query[position..];
        let (kind, length) = match character {
            _ if character.is_ascii_whitespace() => {
                position += 1;
                continue;
            }
            '#' => {
                position += rest.find(['\r', '\n']).unwrap_or(rest.len());
                continue;
            }
            '\'' | '"' | '`' => (TokenKind::Text, text_length(query, position, character)?),
            '(' | '[' | '{' => (TokenKind::Open(character), 1),
            ')' | ']' | '}' => (TokenKind::Close(character), 1),
            '0'..='9' | '.' => (TokenKind::Number, number_length(rest)),
            ':' if in_range => (TokenKind::Sign, 1),
            'a'..='z' | 'A'..='Z' | '_' | ':' => (TokenKind::Word, word_length(rest)),
            _ => (TokenKind::Sign, sign_length(query, position, character)?),
        };
        // Names of recording rules can start with a colon, except between a range and its
        // resolution.
        in_range = (in_range || character == '[') && character != ']';
        tokens.push(Token { kind, span: position..position + length });
        position += length;
    }
    Ok(tokens)
}

fn word_length(rest: &str) -> usize {
    rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':')))
        .unwrap_or(rest.len())
}

/// Digits, units, and the sign of an exponent; the parser validates them.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
    let belongs = |index: usize| match bytes[index] {
        b'.' | b'_' => true,
        b'+' | b'-' => !hexadecimal && index > 0 && matches!(bytes[index - 1], b'e' | b'E'),
        other => other.is_ascii_alphanumeric(),
    };
    (0..bytes.len()).find(|index| !belongs(*index)).unwrap_or(bytes.len())
}

/// The parser processes escapes in all three kinds of quotation marks.
fn text_length(query: &str, begin: usize, quote: char) -> Result<usize, ParseError> {
    const ESCAPED: &str = r"abfnrtv\01234567xuU";
    let mut characters = query[begin..].char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        if character == quote {
            return Ok(index + 1);
        }
        if character != '\\' {
            continue;
        }
        match characters.next() {
            Some((_, escaped)) if is_byte(escaped, characters.clone().next()) => {
                let span = begin + index..begin + index + 2;
                return Err(ParseError::new(query, span, ParseProblem::ByteEscape));
            }
            Some((_, escaped)) if escaped == quote || ESCAPED.contains(escaped) => {}
            Some((_, character)) => {
                let at = begin + index;
                let span = at..at + 1 + character.len_utf8();
                return Err(ParseError::new(query, span, ParseProblem::UnknownEscape(character)));
            }
            None => break,
        }
    }
    Err(ParseError::new(query, begin..query.len(), ParseProblem::UnclosedText(quote)))
}

/// Whether an escape is a byte above ASCII: a character for the parser, but a part of a character
/// for Prometheus.
fn is_byte(escaped: char, next: Option<(usize, char)>) -> bool {
    match escaped {
        'x' => next.is_some_and(|(_, digit)| digit.to_digit(16).is_some_and(|digit| digit >= 8)),
        _ => ('2'..='7').contains(&escaped),
    }
}

fn sign_length(query: &str, position: usize, character: char) -> Result<usize, ParseError> {
    let rest = &query[position..];
    if ["==", "!=", "<=", ">=", "=~", "!~"].iter().any(|sign| rest.starts_with(sign)) {
        return Ok(2);
    }
    if ",*/%+-^=<>@".contains(character) {
        return Ok(1);
    }
    let span = position..position + character.len_utf8();
    Err(ParseError::new(query, span, ParseProblem::UnexpectedCharacter(character)))
}

/// Rejects queries that would need too much stack, memory or time.
pub(crate) fn check(query: &str, tokens: &[Token]) -> Result<(), ParseError> {
    let mut open: Vec<&Token> = Vec::new();
    let (mut operators, mut matchers) = (0, 0);
    for (index, token) in tokens.iter().enumerate() {
        let problem = match token.kind {
            TokenKind::Open(_) => {
                open.push(token);
                operators += usize::from(token.text(query) == "[");
                (open.len() > limits::MAX_DEPTH).then_some(ParseProblem::TooDeep)
            }
            TokenKind::Close(bracket) => match open.pop() {
                Some(opened) if closes(opened.kind, bracket) => None,
                Some(opened) => return Err(unclosed(query, opened)),
                None => Some(ParseProblem::NotOpened(bracket)),
            },
            TokenKind::Sign | TokenKind::Word if is_in(&open, '{') => {
                matchers += usize::from(token.kind == TokenKind::Sign && token.text(query) != ",");
                (matchers > limits::MAX_MATCHERS).then_some(ParseProblem::TooManyMatchers)
            }
            TokenKind::Word if is_infinite_offset(query, &tokens[..index], token) => {
                Some(ParseProblem::Duration(token.text(query).to_owned()))
            }
            TokenKind::Sign | TokenKind::Word => {
                operators += usize::from(is_operator(token.text(query)));
                (operators > limits::MAX_OPERATORS).then_some(ParseProblem::TooManyOperators)
            }
            TokenKind::Number => number_problem(query, tokens, index, is_in(&open, '[')),
            TokenKind::Text => {
                is_name(query, &tokens[..index], &open).then_some(ParseProblem::QuotedName)
            }
        };
        if let Some(problem) = problem {
            return Err(ParseError::new(query, token.span.clone(), problem));
        }
    }
    open.last().map_or(Ok(()), |opened| Err(unclosed(query, opened)))
}

fn is_in(open: &[&Token], bracket: char) -> bool {
    open.last().is_some_and(|opened| opened.kind == TokenKind::Open(bracket))
}

/// Whether a string is used as a name: in braces before a match operator, or in a label list.
fn is_name(query: &str, before: &[Token], open: &[&Token]) -> bool {
    const GROUPS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
    let Some(opened) = open.last() else { return false };
    let last = before.last().map_or("", |token| token.text(query));
    let head = before.iter().rev().find(|token| token.span.end <= opened.span.start);
    let head = head.filter(|head| head.kind == TokenKind::Word).map_or("", |head| head.text(query));
    match opened.kind {
        TokenKind::Open('{') => matches!(last, "{" | ","),
        _ => GROUPS.iter().any(|group| head.eq_ignore_ascii_case(group)),
    }
}

fn closes(opened: TokenKind, bracket: char) -> bool {
    matches!(
        (opened, bracket),
        (TokenKind::Open('('), ')') | (TokenKind::Open('['), ']') | (TokenKind::Open('{'), '}')
    )
}

fn unclosed(query: &str, opened: &Token) -> ParseError {
    let bracket = query[opened.span.start..].chars().next().unwrap_or('(');
    ParseError::new(query, opened.span.clone(), ParseProblem::Unclosed(bracket))
}

fn is_operator(text: &str) -> bool {
    const WORDS: [&str; 4] = ["and", "or", "unless", "atan2"];
    const SIGNS: &str = "== != <= >= + - * / % ^ < >";
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        || SIGNS.split(' ').any(|sign| text == sign)
}

/// Position of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NumberPosition {
    /// In brackets or after `offset`.
    Duration,
    /// After `@`.
    Point,
    /// Other positions.
    Number,
}

/// Checks a number at a position for a time or duration.
///
/// The latest Prometheus accepts numbers as durations and durations as numbers; older versions do
/// not. The parser accepts both, but panics or ignores parts of values that are too large.
pub(crate) fn number_problem(
    query: &str,
    tokens: &[Token],
    index: usize,
    in_range: bool,
) -> Option<ParseProblem> {
    let number = tokens[index].text(query);
    let before = &tokens[..index];
    let position = if in_range || is_offset(query, before) {
        NumberPosition::Duration
    } else if without_signs(query, before).last().is_some_and(|last| last.text(query) == "@") {
        NumberPosition::Point
    } else {
        NumberPosition::Number
    };
    let owned = number.to_owned();
    match position {
        NumberPosition::Duration => (!is_duration(number)).then_some(ParseProblem::Duration(owned)),
        NumberPosition::Number => has_unit(number).then_some(ParseProblem::NumberExpected(owned)),
        NumberPosition::Point => {
            (has_unit(number) || !is_timestamp(number)).then_some(ParseProblem::Point(owned))
        }
    }
}

/// Whether `inf` or `nan` is used as a duration.
pub(crate) fn is_infinite_offset(query: &str, before: &[Token], word: &Token) -> bool {
    let word = word.text(query);
    let infinite = ["inf", "nan"].iter().any(|infinite| word.eq_ignore_ascii_case(infinite));
    infinite && is_offset(query, before)
}

/// Whether the tokens before a number end with the keyword `offset`. At the start of an expression,
/// `offset` is the name of a metric.
fn is_offset(query: &str, before: &[Token]) -> bool {
    let [rest @ .., word] = without_signs(query, before) else { return false };
    let starts_expression = rest.last().is_none_or(|last| {
        matches!(last.kind, TokenKind::Sign | TokenKind::Open(_)) || is_operator(last.text(query))
    });
    word.text(query).eq_ignore_ascii_case("offset") && !starts_expression
}

/// The tokens before a number, without the signs at their end.
fn without_signs<'a>(query: &str, before: &'a [Token]) -> &'a [Token] {
    let is_sign = |token: &Token| matches!(token.text(query), "+" | "-");
    let end = before.iter().rposition(|token| !is_sign(token)).map_or(0, |last| last + 1);
    &before[..end]
}

fn has_unit(number: &str) -> bool {
    let is_hexadecimal = number.starts_with("0x") || number.starts_with("0X");
    !is_hexadecimal && number.contains(|character| "smhdwy".contains(character))
}

/// Whether a text is a duration in the range of Prometheus' nanoseconds.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let (Ok(number), Some(unit)) = (number.parse::<u64>(), unit_milliseconds(unit)) else {
            return false;
        };
        total = total.saturating_add(number.saturating_mul(unit));
        rest = after;
    }
    total <= limits::MAX_DURATION_MILLISECONDS
}

fn unit_milliseconds(unit: &str) -> Option<u64> {
    const DAY: u64 = 86_400_000;
    Some(match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => DAY,
        "w" => 7 * DAY,
        "y" => 365 * DAY,
        _ => return None,
    })
}

/// Whether a Unix time in seconds is in the range of Prometheus' milliseconds.
fn is_timestamp(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|seconds| seconds.abs() < limits::MAX_TIMESTAMP_SECONDS)
}
