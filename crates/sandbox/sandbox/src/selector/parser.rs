//! Lexer and parser of label selectors.

use std::collections::BTreeSet;

use super::MAX_REQUIREMENTS;
use super::label::LabelSelectorError as Error;
use super::label::{Operator, Requirement, RequirementError, check_key};

/// A token and its byte offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) position: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    End,
    Comma,
    Not,
    Equals,
    NotEquals,
    Greater,
    Less,
    In,
    NotIn,
    Open,
    Close,
    Word,
}

impl Token<'_> {
    /// Whether it can be an identifier. `in` and `notin` can, where no operator is expected.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::In | Kind::NotIn)
    }

    pub(super) fn ends_requirement(&self) -> bool {
        matches!(self.kind, Kind::End | Kind::Comma)
    }
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        self.skip(is_white_space);
        let begin = self.position;
        let kind = if let Some((kind, length)) = symbol(&self.text[begin..]) {
            self.position += length;
            kind
        } else {
            self.skip(|byte| !ends_word(byte));
            keyword(&self.text[begin..self.position])
        };
        let text = &self.text[begin..self.position];
        if kind != Kind::End && self.byte() == Some(0) {
            // The API server's lexer treats NUL as end of input, except after a token, where it is
            // a separator.
            self.position += 1;
        }
        Token { kind, text, position: begin }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn skip(&mut self, while_it: impl Fn(u8) -> bool) {
        while self.byte().is_some_and(&while_it) {
            self.position += 1;
        }
    }
}

fn keyword(word: &str) -> Kind {
    match word {
        "in" => Kind::In,
        "notin" => Kind::NotIn,
        _ => Kind::Word,
    }
}

fn symbol(rest: &str) -> Option<(Kind, usize)> {
    Some(match rest.as_bytes() {
        [] | [0, ..] => (Kind::End, 0),
        [b'!', b'=', ..] => (Kind::NotEquals, 2),
        [b'=', b'=', ..] => (Kind::Equals, 2),
        [b'!', ..] => (Kind::Not, 1),
        [b'=', ..] => (Kind::Equals, 1),
        [b'>', ..] => (Kind::Greater, 1),
        [b'<', ..] => (Kind::Less, 1),
        [b'(', ..] => (Kind::Open, 1),
        [b')', ..] => (Kind::Close, 1),
        [b',', ..] => (Kind::Comma, 1),
        _ => return None,
    })
}

fn is_white_space(byte: u8) -> bool {
    b" \t\r\n".contains(&byte)
}

fn ends_word(byte: u8) -> bool {
    is_white_space(byte) || b"=!(),><\0".contains(&byte)
}

type Result<T, E = Error> = std::result::Result<T, E>;

/// Parses a selector.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>> {
    let mut parser = Parser::new(text);
    let mut requirements = Vec::new();
    if parser.next.kind == Kind::End {
        return Ok(requirements);
    }
    parser.expect_requirement("!, identifier, or 'end of string'")?;
    loop {
        let position = parser.next.position;
        if requirements.len() == MAX_REQUIREMENTS {
            return Err(invalid(position, RequirementError::TooMany));
        }
        requirements.push(parser.requirement()?);
        let after = parser.take();
        match after.kind {
            Kind::End => return Ok(requirements),
            Kind::Comma => parser.expect_requirement("identifier after ','")?,
            _ => return Err(unexpected(after, "',' or 'end of string'")),
        }
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token<'a>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let next = lexer.next();
        Self { lexer, next }
    }

    fn take(&mut self) -> Token<'a> {
        std::mem::replace(&mut self.next, self.lexer.next())
    }

    fn expect_requirement(&self, expected: &'static str) -> Result<()> {
        let begins_one = self.next.is_word() || self.next.kind == Kind::Not;
        if begins_one { Ok(()) } else { Err(unexpected(self.next, expected)) }
    }

    fn word(&mut self, expected: &'static str) -> Result<Token<'a>> {
        let token = self.take();
        if token.is_word() { Ok(token) } else { Err(misplaced(token, expected)) }
    }

    fn requirement(&mut self) -> Result<Requirement> {
        let negated = self.next.kind == Kind::Not;
        if negated {
            self.take();
        }
        let key = self.word("identifier")?;
        // Check the key before reading further, so that the first error is reported.
        check_key(key.text).map_err(|error| invalid(key.position, error))?;
        let (operator, values) = if negated {
            (Operator::Absent, BTreeSet::new())
        } else if self.next.ends_requirement() {
            (Operator::Exists, BTreeSet::new())
        } else {
            self.operator_and_values()?
        };
        Requirement::new(key.text, operator, values).map_err(|error| invalid(key.position, error))
    }

    fn operator_and_values(&mut self) -> Result<(Operator, BTreeSet<String>)> {
        let token = self.take();
        let operator = match token.kind {
            Kind::In => return Ok((Operator::In, self.values()?)),
            Kind::NotIn => return Ok((Operator::NotIn, self.values()?)),
            Kind::Equals => Operator::In,
            Kind::NotEquals => Operator::NotIn,
            Kind::Greater => Operator::Greater,
            Kind::Less => Operator::Less,
            _ => return Err(misplaced(token, "in, notin, =, ==, !=, gt, lt")),
        };
        Ok((operator, BTreeSet::from([self.value()?])))
    }

    fn value(&mut self) -> Result<String> {
        if self.next.ends_requirement() {
            return Ok(String::new());
        }
        Ok(self.word("identifier")?.text.to_owned())
    }

    /// Parses `(x,y)`. Missing values are empty strings.
    fn values(&mut self) -> Result<BTreeSet<String>> {
        let open = self.take();
        if open.kind != Kind::Open {
            return Err(misplaced(open, "'('"));
        }
        let mut values = BTreeSet::new();
        loop {
            let value = if self.next.is_word() { self.take().text } else { "" };
            values.insert(value.to_owned());
            let after = self.take();
            match after.kind {
                Kind::Comma => {}
                Kind::Close => return Ok(values),
                _ => return Err(misplaced(after, "',' or ')'")),
            }
        }
    }
}

fn unexpected(token: Token<'_>, expected: &'static str) -> Error {
    Error::Unexpected { position: token.position, found: token.text.to_owned(), expected }
}

/// Like [`unexpected`], within a requirement.
fn misplaced(token: Token<'_>, expected: &'static str) -> Error {
    let found = token.text.to_owned();
    invalid(token.position, RequirementError::Unexpected { found, expected })
}

fn invalid(position: usize, problem: RequirementError) -> Error {
    Error::Requirement { position, problem }
}
