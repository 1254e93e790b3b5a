//! The times in a query: durations, and the points of `@`.
//!
//! The newest Prometheus takes numbers for durations and durations for numbers; older ones refuse
//! that. The parser takes it too, and panics, or overlooks a part, where a time is beyond measure.

use crate::error::Problem;
use crate::limits;
use crate::token::Token;

/// Where a number stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In brackets or after `offset`.
    Duration,
    /// After `@`.
    Point,
    /// Anywhere else.
    Number,
}

/// What is wrong with the number at this place, if it says when or how long.
pub(crate) fn problem(
    query: &str,
    tokens: &[Token],
    index: usize,
    in_range: bool,
) -> Option<Problem> {
    let number = tokens[index].text(query);
    let place = match word_before(query, &tokens[..index]) {
        _ if in_range => Place::Duration,
        Some(word) if word.eq_ignore_ascii_case("offset") => Place::Duration,
        Some("@") => Place::Point,
        _ => Place::Number,
    };
    let owned = number.to_owned();
    match place {
        Place::Duration => (!is_duration(number)).then_some(Problem::Duration { number: owned }),
        Place::Number => has_unit(number).then_some(Problem::NumberExpected { duration: owned }),
        Place::Point => {
            (has_unit(number) || !is_point(number)).then_some(Problem::Point { number: owned })
        }
    }
}

/// Numbers like any other, except where a time is wanted.
pub(crate) fn is_endless(query: &str, before: &[Token], word: &Token) -> bool {
    let word = word.text(query);
    let endless = ["inf", "nan"].iter().any(|endless| word.eq_ignore_ascii_case(endless));
    endless && word_before(query, before).is_some_and(|word| word.eq_ignore_ascii_case("offset"))
}

/// The last word or sign that is not the sign of a number.
fn word_before<'a>(query: &'a str, before: &[Token]) -> Option<&'a str> {
    let words = before.iter().rev().map(|token| token.text(query));
    words.into_iter().find(|word| !matches!(*word, "+" | "-"))
}

fn has_unit(number: &str) -> bool {
    let is_hexadecimal = number.starts_with("0x") || number.starts_with("0X");
    !is_hexadecimal && number.contains(|character| "smhdwy".contains(character))
}

/// Whether this is a duration that every Prometheus can count in nanoseconds.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let (Ok(number), Some(unit)) = (number.parse::<u64>(), milliseconds(unit)) else {
            return false;
        };
        total = total.saturating_add(number.saturating_mul(unit));
        rest = after;
    }
    total <= limits::MAX_DURATION
}

fn milliseconds(unit: &str) -> Option<u64> {
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

/// Whether this many seconds since 1970 can be counted in milliseconds.
fn is_point(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|seconds| seconds.abs() < limits::MAX_POINT)
}
