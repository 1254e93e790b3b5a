//! Parsed queries.

use promql_parser::parser;

use crate::convert;
use crate::error::{ParseError, ParseProblem};
use crate::error_location;
use crate::expr::{Expr, Selector};
use crate::go_regex;
use crate::limits;
use crate::token::{self, Token};

/// A query and its syntax tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    text: String,
    expr: Expr,
}

impl Query {
    /// Parses a query that all versions of Prometheus accept.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > limits::MAX_BYTES {
            let problem = ParseProblem::TooLong(text.len());
            return Err(ParseError::new(text, 0..0, problem));
        }
        let tokens = token::tokens(text)?;
        if tokens.is_empty() {
            return Err(ParseError::new(text, 0..text.len(), ParseProblem::Empty));
        }
        token::check(text, &tokens)?;
        go_regex::check(text, &tokens)?;
        let parsed = parser::parse(text)
            .map_err(|message| error_location::error(text, &tokens, &message))?;
        check_signs(text, &tokens)?;
        let expr = convert::expr(&parsed)
            .map_err(|problem| error_location::problem(text, &tokens, problem))?;
        let query = Self { text: text.to_owned(), expr };
        if query.selectors().len() > limits::MAX_SELECTORS {
            return Err(ParseError::new(text, 0..text.len(), ParseProblem::TooManySelectors));
        }
        Ok(query)
    }

    /// Text of the query.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Syntax tree of the query.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Selectors, in the order of the text.
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

/// Checks unary plus signs. The parser drops them without checking the type of the operand, so they
/// are checked as minus signs.
fn check_signs(text: &str, tokens: &[Token]) -> Result<(), ParseError> {
    let mut with_minus = text.to_owned();
    for plus in tokens.iter().filter(|token| token.text(text) == "+") {
        with_minus.replace_range(plus.span.clone(), "-");
    }
    if with_minus == text {
        return Ok(());
    }
    let error_of = |message: String| error_location::error(&with_minus, tokens, &message);
    parser::parse(&with_minus).map(drop).map_err(error_of)
}
