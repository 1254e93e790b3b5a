//! Numbers, as the API server reads them: 64-bit integers, and floating point for the rest.

use serde_json::Number;

use crate::schema::Limits;

/// Beyond this, floating point does not tell neighbouring integers apart.
const LARGEST_EXACT: f64 = 9_007_199_254_740_991.0;

/// Divisions in floating point are never exact.
const TOLERANCE: f64 = 1e-9;

/// Whether it is written as an integer, and is one of 64 bits.
pub(crate) fn is_integer(number: &Number) -> bool {
    number.as_i64().is_some()
}

/// Whether it is an integer, however it is written.
pub(crate) fn is_whole(number: &Number) -> bool {
    let exact = |number: f64| number.fract() == 0.0 && number.abs() <= LARGEST_EXACT;
    is_integer(number) || number.as_f64().is_some_and(exact)
}

/// A number in the API server's own notation: beyond six digits with an exponent.
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

/// Says of every limit that is broken what the number should be.
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
    times.abs() <= LARGEST_EXACT
        && (times - times.round()).abs() <= TOLERANCE * times.abs().max(1.0)
}

/// A whole number of floating point as an integer.
fn to_integer(number: f64) -> Option<i64> {
    format!("{number:.0}").parse().ok()
}
