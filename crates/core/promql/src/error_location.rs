//! Positions of parse errors.
//!
//! The parser returns no positions. A syntax error is located at the first token after which no
//! continuation is valid. Any other error is located in the smallest part that fails alone with the
//! same error.

use std::ops::Range;

use promql_parser::parser;

use crate::convert;
use crate::error::{ParseError, ParseProblem};
use crate::token::{Token, TokenKind};

/// Message of the parser for every syntax error.
const SYNTAX: &str = "invalid promql query";

/// Completions of an incomplete query up to the next closing bracket: one for each position in the
/// grammar.
const COMPLETIONS: [&str; 9] = ["", "x", "(x)", "(x) (x)", "(x) x", "=\"x\"", "\"x\"", "1m", "()"];

/// Texts that can be required after that bracket.
const CONTINUATIONS: [&str; 3] = ["", "x", "(x)"];

/// Parts that are parsed alone, which bounds the time for large queries.
const MAX_PARTS: usize = 100;

/// Locates and translates an error of the parser.
pub(crate) fn error(text: &str, tokens: &[Token], message: &str) -> ParseError {
    if message == SYNTAX { syntax(text, tokens) } else { problem(text, tokens, words(message)) }
}

/// Locates a problem that is not a syntax error.
pub(crate) fn problem(text: &str, tokens: &[Token], problem: ParseProblem) -> ParseError {
    let same = |span: &Range<usize>| refusal(&text[span.clone()]).as_ref() == Some(&problem);
    let mut parts = parts(text, tokens);
    parts.sort_by_key(|span| (span.len(), span.start));
    let whole = tokens.first().map_or(0, |token| token.span.start)
        ..tokens.last().map_or(text.len(), |token| token.span.end);
    let span = parts.into_iter().take(MAX_PARTS).find(same).unwrap_or(whole);
    ParseError::new(text, span, problem)
}

fn refusal(part: &str) -> Option<ParseProblem> {
    match parser::parse(part) {
        Ok(parsed) => convert::expr(&parsed).err(),
        Err(message) => Some(words(&message)),
    }
}

/// All calls, selectors, and parts between brackets and commas.
fn parts(text: &str, tokens: &[Token]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Open(_) => open.push((index, token.span.end)),
            TokenKind::Sign if token.text(text) == "," => {
                if let Some((_, begin)) = open.last_mut() {
                    parts.push(*begin..token.span.start);
                    *begin = token.span.end;
                }
            }
            TokenKind::Close(_) => {
                let Some((opened, begin)) = open.pop() else { continue };
                parts.push(begin..token.span.start);
                let head = opened.checked_sub(1).map(|before| &tokens[before]);
                let head = head.filter(|head| head.kind == TokenKind::Word);
                let begin = head.unwrap_or(&tokens[opened]).span.start;
                parts.push(begin..token.span.end);
            }
            _ => {}
        }
    }
    parts
}

fn syntax(text: &str, tokens: &[Token]) -> ParseError {
    let viable = |count: &usize| is_viable(text, &tokens[..*count]);
    let counts: Vec<usize> = (1..=tokens.len()).collect();
    match tokens.get(counts.partition_point(viable)) {
        Some(token) => {
            let found = format!("`{}`", token.text(text));
            ParseError::new(text, token.span.clone(), ParseProblem::Unexpected(found))
        }
        None => {
            ParseError::new(text, text.trim_end().len()..text.len(), ParseProblem::UnexpectedEnd)
        }
    }
}

/// Whether any continuation of these tokens is a query.
fn is_viable(text: &str, tokens: &[Token]) -> bool {
    let begin = &text[..tokens.last().map_or(0, |token| token.span.end)];
    let mut closing = closing(tokens);
    let next = closing.pop();
    let rest: String = closing.iter().rev().collect();
    COMPLETIONS.iter().any(|completion| {
        let Some(bracket) = next else { return is_syntax(&format!("{begin} {completion}")) };
        CONTINUATIONS.iter().any(|continuation| {
            is_syntax(&format!("{begin} {completion}{bracket} {continuation}{rest}"))
        })
    })
}

fn is_syntax(text: &str) -> bool {
    let is_error = |message: &String| message == SYNTAX;
    parser::lexer(text).is_ok() && !parser::parse(text).as_ref().is_err_and(is_error)
}

/// The closing brackets for all open ones, outermost first.
fn closing(tokens: &[Token]) -> Vec<char> {
    let mut closing = Vec::new();
    for token in tokens {
        match token.kind {
            TokenKind::Open('(') => closing.push(')'),
            TokenKind::Open('[') => closing.push(']'),
            TokenKind::Open(_) => closing.push('}'),
            TokenKind::Close(_) => {
                closing.pop();
            }
            _ => {}
        }
    }
    closing
}

/// Translates an error message of the parser.
fn words(message: &str) -> ParseProblem {
    let quoted = || message.split('\'').nth(1).unwrap_or_default().to_owned();
    if message.starts_with("unknown function") {
        return ParseProblem::UnknownFunction(quoted());
    }
    if message.starts_with("vector selector must contain") {
        return ParseProblem::SelectsEverything;
    }
    if message.starts_with("comparisons between scalars") {
        return ParseProblem::NumbersCompared;
    }
    if let Some(pattern) = message.strip_prefix("illegal regex for ") {
        let reason = "it cannot be parsed".to_owned();
        return ParseProblem::Regex { pattern: pattern.to_owned(), reason };
    }
    let plain = PLAIN_WORDS.iter().find(|(parsers, _)| message.contains(parsers));
    let reason = plain.map(|(_, ours)| (*ours).to_owned()).or_else(|| types(message));
    let reason = reason.or_else(|| arguments(message)).unwrap_or_else(|| message.to_owned());
    ParseProblem::Mismatch { reason }
}

/// Substrings of the parser's messages and their translation.
const PLAIN_WORDS: [(&str, &str); 14] = [
    ("label matching", "expected a label matcher with a quoted value: name=\"value\""),
    ("label matcher", "expected a label matcher with a quoted value: name=\"value\""),
    ("second colon", "a subquery range has one colon, between range and resolution"),
    ("before first colon", "expected a duration before the colon"),
    ("in offset", "expected a duration after `offset`"),
    ("in @", "expected a Unix time, start() or end() after `@`"),
    ("missing unit", "a range requires a duration with a unit, such as [5m]"),
    ("set operator", "`and`, `or` and `unless` require vectors on both sides"),
    ("no grouping allowed", "`and`, `or` and `unless` do not support group_left and group_right"),
    ("unary expression", "a sign is valid only before scalars and instant vectors"),
    ("binary expression must", "operators require scalars or instant vectors on both sides"),
    ("bool modifier", "`bool` is valid only after comparisons"),
    ("set multiple times", "`offset` and `@` may be set only once"),
    ("in ON and GROUP", "a label in `on` must not be repeated in `group_left` or `group_right`"),
];

/// `expected 5 argument(s) in call to 'f', got 2`
fn arguments(message: &str) -> Option<String> {
    let name = message.split('\'').nth(1).unwrap_or("an aggregation");
    let (before, got) = message.rsplit_once("got ")?;
    let expected = before.split_once("expected ")?.1.split(" argument").next()?;
    let expected = expected.trim_end_matches(", ");
    message.contains("argument").then(|| format!("{name} expects {expected} arguments, got {got}"))
}

/// `expected type X in call to function 'f', got Y`
fn types(message: &str) -> Option<String> {
    let (expected, rest) = message.strip_prefix("expected type ")?.split_once(" in ")?;
    let (context, actual) = rest.split_once(", got ")?;
    let taker = context.split('\'').nth(1).unwrap_or("an aggregation");
    Some(format!("{taker} expects {}, got {}", named(expected), named(actual)))
}

fn named(value_type: &str) -> &str {
    match value_type {
        "scalar" => "a scalar",
        "vector" => "an instant vector",
        "matrix" => "a range vector such as x[5m]",
        "string" => "a string",
        "None" => "nothing",
        other => other,
    }
}
