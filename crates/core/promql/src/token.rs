//! The words and symbols of a query, and the limits that are checked before it is parsed.
//!
//! The parser says what is wrong, but not where, and trusts its input to be small. So the text is
//! cut into tokens here first, at exactly the places where the parser cuts it.

use std::ops::Range;

use crate::error::{ParseError, Problem};
use crate::limits;
use crate::time;

/// A word or symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or keyword.
    Word,
    /// A number or duration.
    Number,
    /// A text with its quotation marks.
    Text,
    /// `(`, `[` or `{`.
    Open(char),
    /// `)`, `]` or `}`.
    Close(char),
    /// Any other sign.
    Sign,
}

impl Token {
    pub(crate) fn text<'a>(&self, query: &'a str) -> &'a str {
        &query[self.span.clone()]
    }
}

/// Cuts a query into tokens.
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
            '\'' | '"' | '`' => (Kind::Text, text_length(query, position, character)?),
            '(' | '[' | '{' => (Kind::Open(character), 1),
            ')' | ']' | '}' => (Kind::Close(character), 1),
            '0'..='9' | '.' => (Kind::Number, number_length(rest)),
            ':' if in_range => (Kind::Sign, 1),
            'a'..='z' | 'A'..='Z' | '_' | ':' => (Kind::Word, word_length(rest)),
            _ => (Kind::Sign, sign_length(query, position, character)?),
        };
        // A colon begins the name of a recording rule, except between a range and its step.
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

/// Digits, units, and the sign of an exponent: whether they make sense is for the parser to say.
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

/// The parser knows escapes between all three quotation marks.
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
                return Err(ParseError::new(query, span, Problem::ByteEscape));
            }
            Some((_, escaped)) if escaped == quote || ESCAPED.contains(escaped) => {}
            Some((_, character)) => {
                let at = begin + index;
                let span = at..at + 1 + character.len_utf8();
                return Err(ParseError::new(query, span, Problem::UnknownEscape { character }));
            }
            None => break,
        }
    }
    Err(ParseError::new(query, begin..query.len(), Problem::UnclosedText { quote }))
}

/// Whether an escape means a byte beyond ASCII: for the parser it is a character, for Prometheus a
/// part of one.
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
    Err(ParseError::new(query, span, Problem::UnexpectedCharacter { character }))
}

/// Refuses what would take too much of the stack, of memory or of time.
pub(crate) fn check(query: &str, tokens: &[Token]) -> Result<(), ParseError> {
    let mut open: Vec<&Token> = Vec::new();
    let (mut operators, mut matchers) = (0, 0);
    for (index, token) in tokens.iter().enumerate() {
        let problem = match token.kind {
            Kind::Open(_) => {
                open.push(token);
                operators += usize::from(token.text(query) == "[");
                (open.len() > limits::MAX_DEPTH).then_some(Problem::TooDeep)
            }
            Kind::Close(bracket) => match open.pop() {
                Some(opened) if closes(opened.kind, bracket) => None,
                Some(opened) => return Err(unclosed(query, opened)),
                None => Some(Problem::NotOpened { bracket }),
            },
            Kind::Sign | Kind::Word if is_in(&open, '{') => {
                matchers += usize::from(token.kind == Kind::Sign && token.text(query) != ",");
                (matchers > limits::MAX_MATCHERS).then_some(Problem::TooManyMatchers)
            }
            Kind::Word if time::is_endless(query, &tokens[..index], token) => {
                Some(Problem::Duration { number: token.text(query).to_owned() })
            }
            Kind::Sign | Kind::Word => {
                operators += usize::from(is_operator(token.text(query)));
                (operators > limits::MAX_OPERATORS).then_some(Problem::TooManyOperators)
            }
            Kind::Number => time::problem(query, tokens, index, is_in(&open, '[')),
            Kind::Text => is_name(query, &tokens[..index], &open).then_some(Problem::QuotedName),
        };
        if let Some(problem) = problem {
            return Err(ParseError::new(query, token.span.clone(), problem));
        }
    }
    open.last().map_or(Ok(()), |opened| Err(unclosed(query, opened)))
}

fn is_in(open: &[&Token], bracket: char) -> bool {
    open.last().is_some_and(|opened| opened.kind == Kind::Open(bracket))
}

/// Whether a text stands where a name does: in braces before a comparison, or among the
/// labels of a group.
fn is_name(query: &str, before: &[Token], open: &[&Token]) -> bool {
    const GROUPS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
    let Some(opened) = open.last() else { return false };
    let last = before.last().map_or("", |token| token.text(query));
    let head = before.iter().rev().find(|token| token.span.end <= opened.span.start);
    let head = head.filter(|head| head.kind == Kind::Word).map_or("", |head| head.text(query));
    match opened.kind {
        Kind::Open('{') => matches!(last, "{" | ","),
        _ => GROUPS.iter().any(|group| head.eq_ignore_ascii_case(group)),
    }
}

fn closes(opened: Kind, bracket: char) -> bool {
    matches!(
        (opened, bracket),
        (Kind::Open('('), ')') | (Kind::Open('['), ']') | (Kind::Open('{'), '}')
    )
}

fn unclosed(query: &str, opened: &Token) -> ParseError {
    let bracket = query[opened.span.start..].chars().next().unwrap_or('(');
    ParseError::new(query, opened.span.clone(), Problem::Unclosed { bracket })
}

fn is_operator(text: &str) -> bool {
    const WORDS: [&str; 4] = ["and", "or", "unless", "atan2"];
    const SIGNS: &str = "== != <= >= + - * / % ^ < >";
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
        || SIGNS.split(' ').any(|sign| text == sign)
}
