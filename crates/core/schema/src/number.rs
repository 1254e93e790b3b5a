//! Numbers as in Go: 64-bit integers, and floating point for all others.

use serde_json::Number;

use crate::schema::Limits;

/// Largest integer that floating point represents exactly.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Tolerance of floating-point divisions.
const TOLERANCE: f64 = 1e-9;

/// Whether a number is written as an integer and fits into 64 bits.
pub(crate) fn is_integer(number: &Number) -> bool {
    number.as_i64().is_some()
}

/// Whether a number is an integer, also if it is written as floating point.
pub(crate) fn is_whole(number: &Number) -> bool {
    let exact = |number: f64| number.fract() == 0.0 && number.abs() <= MAX_EXACT_INTEGER;
    is_integer(number) || number.as_f64().is_some_and(exact)
}

/// A number in Go syntax: with an exponent from seven digits on.
pub(crate) fn in_go_syntax(number: f64) -> String {
    let text = format!("{number:e}");
    match text.split_once('e').map(|(digits, exponent)| (digits, exponent.parse::<i32>())) {
        Some((digits, Ok(exponent))) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => number.to_string(),
    }
}

/// Reports every violated limit.
pub(crate) fn check(number: &Number, limits: &Limits, mut should: impl FnMut(&str)) {
    if let Some(factor) = limits.multiple_of
        && !is_multiple(number, factor)
    {
        should(&format!("should be a multiple of {}", in_go_syntax(factor)));
    }
    let Some(number) = number.as_f64() else { return };
    let mut should_be = |what: &str, limit: f64| {
        should(&format!("should be {what} {}", in_go_syntax(limit)));
    };
    match limits.maximum {
        Some(limit) if limits.exclusive_maximum && number >= limit => {
            should_be("less than", limit);
        }
        Some(limit) if number > limit => should_be("less than or equal to", limit),
        _ => {}
    }
    match limits.minimum {
        Some(limit) if limits.exclusive_minimum && number <= limit => {
            should_be("greater than", limit);
        }
        Some(limit) if number < limit => should_be("greater than or equal to", limit),
        _ => {}
    }
}

fn is_multiple(number: &Number, factor: f64) -> bool {
    let whole_factor = Number::from_f64(factor).filter(is_whole).map(|_| factor);
    if let (Some(number), Some(factor)) = (number.as_i64(), whole_factor.and_then(to_integer)) {
        return number.checked_rem(factor) == Some(0);
    }
    let times = number.as_f64().unwrap_or_default() / factor;
    times.abs() <= MAX_EXACT_INTEGER
        && (times - times.round()).abs() <= TOLERANCE * times.abs().max(1.0)
}

/// Converts an integral floating-point number.
fn to_integer(number: f64) -> Option<i64> {
    format!("{number:.0}").parse().ok()
}
