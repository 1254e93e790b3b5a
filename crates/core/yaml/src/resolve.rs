//! Scalars: the YAML 1.1 types as go-yaml v2 resolves them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Number, Value};

use crate::error::YamlProblem;
use crate::oddity::OddityKind;

/// A resolved scalar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Cow<'a, str>),
}

/// The explicit tag of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Str,
    Bool,
    Int,
    Float,
    Null,
    Timestamp,
    Binary,
    Merge,
    /// A tag without a meaning here: the scalar is text.
    Other,
}

impl Tag {
    pub(crate) fn of(tag: &str) -> Self {
        match tag.strip_prefix("tag:yaml.org,2002:") {
            Some("str") => Self::Str,
            Some("bool") => Self::Bool,
            Some("int") => Self::Int,
            Some("float") => Self::Float,
            Some("null") => Self::Null,
            Some("timestamp") => Self::Timestamp,
            Some("binary") => Self::Binary,
            Some("merge") => Self::Merge,
            _ => Self::Other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Str => "!!str",
            Self::Bool => "!!bool",
            Self::Int => "!!int",
            Self::Float => "!!float",
            Self::Null => "!!null",
            Self::Timestamp => "!!timestamp",
            Self::Binary => "!!binary",
            Self::Merge => "!!merge",
            Self::Other => "another type",
        }
    }
}

/// Resolves a plain scalar without a tag, and returns its oddity, if any.
pub(crate) fn plain_with_oddity(text: Cow<'_, str>) -> (Scalar<'_>, Option<OddityKind>) {
    // Most scalars begin with a letter that only text begins with.
    match text.as_bytes().first() {
        Some(b'y' | b'Y' | b'n' | b'N' | b'o' | b'O' | b'+' | b'-' | b'0'..=b'9') => {}
        _ => return (plain(text), None),
    }
    let resolved = plain(Cow::Borrowed(&text));
    let oddity = resolved.oddity(&text);
    match resolved {
        Scalar::Null => (Scalar::Null, oddity),
        Scalar::Bool(value) => (Scalar::Bool(value), oddity),
        Scalar::Int(value) => (Scalar::Int(value), oddity),
        Scalar::Uint(value) => (Scalar::Uint(value), oddity),
        Scalar::Float(value) => (Scalar::Float(value), oddity),
        Scalar::Text(_) => (Scalar::Text(text), oddity),
    }
}

/// Resolves a plain scalar without a tag.
pub(crate) fn plain(text: Cow<'_, str>) -> Scalar<'_> {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            word(&text).unwrap_or(Scalar::Text(text))
        }
        Some(b'.' | b'+' | b'-' | b'0'..=b'9') => number(&text).unwrap_or(Scalar::Text(text)),
        Some(_) => Scalar::Text(text),
    }
}

fn word(text: &str) -> Option<Scalar<'static>> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Some(Scalar::Bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Scalar::Bool(false))
        }
        "~" | "null" | "Null" | "NULL" => Some(Scalar::Null),
        _ => None,
    }
}

fn number(text: &str) -> Option<Scalar<'static>> {
    match text {
        ".nan" | ".NaN" | ".NAN" => return Some(Scalar::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Some(Scalar::Float(f64::INFINITY));
        }
        "-.inf" | "-.Inf" | "-.INF" => return Some(Scalar::Float(f64::NEG_INFINITY)),
        _ => {}
    }
    if text.starts_with('.') {
        // Here go-yaml passes underscores on to Go's parser, which accepts them only between digits.
        let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        let bytes = text.as_bytes();
        let is_between = |(at, _)| is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1));
        let is_valid = text.match_indices('_').all(is_between);
        return if is_valid { float(&text.replace('_', "")) } else { None };
    }
    // go-yaml removes all underscores.
    let digits: Cow<'_, str> =
        if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    // After `0b`, go-yaml accepts a sign.
    let binary = || i64::from_str_radix(digits.strip_prefix("0b")?, 2).ok().map(Scalar::Int);
    integer(&digits).or_else(|| float(&digits)).or_else(binary)
}

/// An integer as Go's `strconv` reads it with base 0: a leading zero means octal.
fn integer(text: &str) -> Option<Scalar<'static>> {
    let (is_negative, size) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = match size.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &size[2..]),
        [b'0', b'b' | b'B', ..] => (2, &size[2..]),
        [b'0', b'o' | b'O', ..] => (8, &size[2..]),
        [b'0', _, ..] => (8, &size[1..]),
        _ => (10, size),
    };
    // The parser of the standard library takes a sign of its own.
    if !digits.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    let size = u64::from_str_radix(digits, base).ok()?;
    if is_negative {
        return 0_i64.checked_sub_unsigned(size).map(Scalar::Int);
    }
    // Go reads unsigned numbers without a sign only.
    match i64::try_from(size) {
        Ok(size) => Some(Scalar::Int(size)),
        Err(_) if text.starts_with('+') => None,
        Err(_) => Some(Scalar::Uint(size)),
    }
}

fn float(text: &str) -> Option<Scalar<'static>> {
    let size = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match size.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (size, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && is_digits(fraction),
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => !mantissa.is_empty() && is_digits(mantissa),
    };
    let is_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && is_digits(digits)
    });
    if !is_mantissa || !is_exponent {
        return None;
    }
    // A number beyond the range stays text.
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Scalar::Float)
}

/// Resolves a scalar with a tag.
pub(crate) fn tagged(tag: Tag, text: Cow<'_, str>) -> Result<Scalar<'_>, YamlProblem> {
    let wrong = |text: &str| YamlProblem::WrongTag { text: excerpt(text), tag: tag.name() };
    let resolved = match tag {
        Tag::Str | Tag::Other | Tag::Merge => return Ok(Scalar::Text(text)),
        Tag::Binary => return binary(&text).ok_or_else(|| wrong(&text)),
        Tag::Timestamp if is_timestamp(&text) => return Ok(Scalar::Text(text)),
        Tag::Timestamp => return Err(wrong(&text)),
        Tag::Bool | Tag::Int | Tag::Float | Tag::Null => plain(Cow::Borrowed(&text)),
    };
    match (tag, resolved) {
        (Tag::Bool, Scalar::Bool(value)) => Ok(Scalar::Bool(value)),
        (Tag::Int, Scalar::Int(value)) => Ok(Scalar::Int(value)),
        (Tag::Int, Scalar::Uint(value)) => Ok(Scalar::Uint(value)),
        (Tag::Float, Scalar::Float(value)) => Ok(Scalar::Float(value)),
        #[allow(clippy::cast_precision_loss)] // Go converts in the same way.
        (Tag::Float, Scalar::Int(value)) => Ok(Scalar::Float(value as f64)),
        (Tag::Null, Scalar::Null) => Ok(Scalar::Null),
        _ => Err(wrong(&text)),
    }
}

fn excerpt(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Go's decoder ignores line breaks and the unused bits of the last character.
fn binary(text: &str) -> Option<Scalar<'static>> {
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
    let packed: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    let bytes = GeneralPurpose::new(&STANDARD, config).decode(packed).ok()?;
    // JSON is text: Go's encoder replaces every byte that is none.
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Some(Scalar::Text(Cow::Owned(text)))
}

/// Whether go-yaml accepts a text as `!!timestamp`: a date, or a date and a time with a zone behind
/// `T` or without one behind a space.
fn is_timestamp(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else { return false };
    let Some((month, rest)) = rest.split_once('-') else { return false };
    let split = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (day, time) = rest.split_at(split);
    let number = |text: &str, digits: usize| {
        let is_number =
            (1..=digits).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok()).flatten()
    };
    let date = (number(year, 4).filter(|_| year.len() == 4), number(month, 2), number(day, 2));
    let (Some(year), Some(month), Some(day)) = date else { return false };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    if !(1..=last).contains(&day) {
        return false;
    }
    match time.as_bytes().first() {
        None => true,
        Some(b' ') => time_of_day(&time[1..]) == Some(""),
        Some(b'T' | b't') => time_of_day(&time[1..]).is_some_and(is_zone),
        Some(_) => false,
    }
}

/// The rest behind a time of day.
fn time_of_day(text: &str) -> Option<&str> {
    let mut rest = text;
    for (limit, separator) in [(24, ":"), (60, ":"), (60, "")] {
        let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        let value: u32 = rest[..digits].parse().ok()?;
        if value >= limit {
            return None;
        }
        rest = rest[digits..].strip_prefix(separator)?;
    }
    let Some(fraction) = rest.strip_prefix(['.', ',']) else { return Some(rest) };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { Some(rest) } else { Some(&fraction[digits..]) }
}

fn is_zone(text: &str) -> bool {
    let is_two = |pair: &[u8]| pair.iter().all(u8::is_ascii_digit);
    match text.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', hours @ .., b':', m1, m2] if hours.len() == 2 => {
            is_two(hours) && is_two(&[*m1, *m2])
        }
        _ => false,
    }
}

impl Scalar<'_> {
    /// The value in JSON.
    pub(crate) fn into_value(self) -> Result<Value, YamlProblem> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(value),
            Self::Int(value) => Value::Number(value.into()),
            Self::Uint(value) => Value::Number(value.into()),
            Self::Float(value) => match Number::from_f64(value) {
                Some(number) => Value::Number(number),
                None if value.is_nan() => return Err(YamlProblem::UnsupportedValue("NaN")),
                None => return Err(YamlProblem::UnsupportedValue("infinity")),
            },
            Self::Text(text) => Value::String(text.into_owned()),
        })
    }

    /// The key in JSON: numbers and booleans become text.
    pub(crate) fn into_key(self) -> Result<String, YamlProblem> {
        match self {
            Self::Text(text) => Ok(text.into_owned()),
            Self::Bool(value) => Ok(value.to_string()),
            Self::Int(value) => Ok(value.to_string()),
            Self::Float(value) => Ok(float_key(value)),
            Self::Null => Err(YamlProblem::UnsupportedKey("null")),
            Self::Uint(_) => {
                Err(YamlProblem::UnsupportedKey("an integer that does not fit in 63 bits"))
            }
        }
    }

    /// The oddity of a plain scalar that was resolved to this.
    pub(crate) fn oddity(&self, text: &str) -> Option<OddityKind> {
        match self {
            Self::Bool(value) if !matches!(text.len(), 4 | 5) => {
                Some(OddityKind::BooleanWord { word: text.to_owned(), value: *value })
            }
            Self::Int(value) if is_ambiguous(text) => Some(ambiguous(text, &value.to_string())),
            Self::Float(_) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                // 0809 has a leading zero and is not octal.
                if text.starts_with('0') {
                    Some(ambiguous(text, text.trim_start_matches('0')))
                } else {
                    Some(OddityKind::ImpreciseNumber { text: text.to_owned() })
                }
            }
            Self::Text(_) if is_sexagesimal(text) => Some(ambiguous(text, "a string")),
            _ => None,
        }
    }
}

fn ambiguous(text: &str, value: &str) -> OddityKind {
    OddityKind::AmbiguousNumber { text: text.to_owned(), value: value.to_owned() }
}

/// Octal numbers with a leading zero are decimal in YAML 1.2; binary numbers and underscores are
/// text there.
fn is_ambiguous(text: &str) -> bool {
    let size = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_octal = size.len() > 1 && size.starts_with('0') && !size.starts_with("0x");
    is_octal || size.contains('_')
}

/// Numbers such as `22:00`, which YAML 1.1 reads with base 60 and go-yaml as text.
fn is_sexagesimal(text: &str) -> bool {
    let mut parts = text.split(':');
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_first = parts.next().is_some_and(|part| {
        matches!(part.as_bytes().first(), Some(b'1'..=b'9')) && is_digits(part)
    });
    let mut count = 0;
    is_first
        && parts.all(|part| {
            count += 1;
            matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
        })
        && count > 0
}

/// A float as sigs.k8s.io/yaml writes it into a key: `%g` with the precision of 32 bits.
#[allow(clippy::cast_possible_truncation)] // The loss of precision is the behaviour to match.
fn float_key(value: f64) -> String {
    let value = value as f32;
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}
