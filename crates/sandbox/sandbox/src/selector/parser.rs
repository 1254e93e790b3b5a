//! The grammar of label selectors.

use std::collections::BTreeSet;

use super::MAX_REQUIREMENTS;
use super::label::LabelSelectorError as Error;
use super::lexer::{Kind, Lexer, Token};
use super::requirement::{Operator, Requirement, RequirementError, check_key};

type Result<T, E = Error> = std::result::Result<T, E>;

/// Takes a selector apart.
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
        // Before what follows is read: the first mistake is the one to tell.
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

    /// `(x,y)`. Between two commas, and in empty parentheses, is the empty value.
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

/// As [`unexpected`], within a requirement.
fn misplaced(token: Token<'_>, expected: &'static str) -> Error {
    let found = token.text.to_owned();
    invalid(token.position, RequirementError::Unexpected { found, expected })
}

fn invalid(position: usize, problem: RequirementError) -> Error {
    Error::Requirement { position, problem }
}
