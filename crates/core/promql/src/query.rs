//! A query that was read.

use promql_parser::parser;

use crate::convert;
use crate::error::{ParseError, Problem};
use crate::expr::{Expr, Selector};
use crate::limits;
use crate::locate;
use crate::pattern;
use crate::token::{self, Token};

/// A query: its text and what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    text: String,
    expr: Expr,
}

impl Query {
    /// Reads a query that any Prometheus runs.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > limits::MAX_BYTES {
            let problem = Problem::TooLong { length: text.len() };
            return Err(ParseError::new(text, 0..0, problem));
        }
        let tokens = token::tokens(text)?;
        if tokens.is_empty() {
            return Err(ParseError::new(text, 0..text.len(), Problem::Empty));
        }
        token::check(text, &tokens)?;
        pattern::check(text, &tokens)?;
        let parsed =
            parser::parse(text).map_err(|message| locate::error(text, &tokens, &message))?;
        check_signs(text, &tokens)?;
        let expr =
            convert::expr(&parsed).map_err(|problem| locate::problem(text, &tokens, problem))?;
        let query = Self { text: text.to_owned(), expr };
        if query.selectors().len() > limits::MAX_SELECTORS {
            return Err(ParseError::new(text, 0..text.len(), Problem::TooManySelectors));
        }
        Ok(query)
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it says.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// What it reads, in the order in which it is written.
    pub fn selectors(&self) -> Vec<&Selector> {
        let mut selectors = Vec::new();
        let mut waiting = vec![&self.expr];
        while let Some(expr) = waiting.pop() {
            match expr {
                Expr::Selector(selector) => selectors.push(selector),
                other => waiting.extend(other.children().into_iter().rev()),
            }
        }
        selectors
    }
}

/// The parser forgets a plus before an operand, and does not look at what that is. A minus may
/// stand before the same, and the parser does look there.
fn check_signs(text: &str, tokens: &[Token]) -> Result<(), ParseError> {
    let mut with_minus = text.to_owned();
    for plus in tokens.iter().filter(|token| token.text(text) == "+") {
        with_minus.replace_range(plus.span.clone(), "-");
    }
    if with_minus == text {
        return Ok(());
    }
    let refused = |message: String| locate::error(&with_minus, tokens, &message);
    parser::parse(&with_minus).map(drop).map_err(refused)
}
