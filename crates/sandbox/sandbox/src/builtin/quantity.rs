//! Kubernetes resource quantities such as `500m` or `1Gi`.

use std::cmp::Ordering;
use std::fmt;

/// A quantity, with the notation in which it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    /// In billionths, the finest unit of a quantity.
    nanos: i128,
    units: Units,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Units {
    /// `m`, `k`, `M`: powers of a thousand.
    Decimal,
    /// `Ki`, `Mi`: powers of 1024.
    Binary,
    /// `e3`: powers of ten.
    Exponent,
}

/// Parse error of a quantity, with the message of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuantityError {
    #[error(
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    #[error("unable to parse numeric part of quantity")]
    Number,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

const NANOS: i128 = 1_000_000_000;
/// Maximum; larger quantities are reduced to it.
const MAX_NANOS: i128 = i64::MAX as i128 * NANOS;
const DECIMAL_SUFFIXES: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY_SUFFIXES: [(&str, u32); 6] =
    [("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5), ("Ei", 6)];

impl Quantity {
    /// Parses a quantity.
    pub(crate) fn parse(text: &str) -> Result<Self, QuantityError> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        if number.is_empty() {
            return Err(QuantityError::Format);
        }
        if suffix.chars().any(|c| !"eEinumkKMGTP+-0123456789".contains(c)) {
            return Err(QuantityError::Format);
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.is_empty() && fraction.is_empty() {
            return Err(QuantityError::Number);
        }
        let (units, scale) = parse_suffix(suffix).ok_or(QuantityError::Suffix)?;
        let nanos = nanos(whole, fraction, scale);
        Ok(Self { nanos: if negative { -nanos } else { nanos }, units })
    }

    /// Rounds away from zero to whole thousandths.
    pub(crate) fn to_thousandths(self) -> Self {
        const THOUSANDTH: i128 = NANOS / 1000;
        let more = i128::from(self.nanos % THOUSANDTH != 0) * self.nanos.signum();
        Self { nanos: (self.nanos / THOUSANDTH + more) * THOUSANDTH, ..self }
    }

    /// The quantity in thousandths, rounded up; `None` if negative.
    pub(crate) fn to_millis(self) -> Option<u128> {
        u128::try_from(self.nanos).ok().map(|nanos| nanos.div_ceil(1_000_000))
    }

    /// Whether the quantity is less than zero.
    pub(crate) fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether the quantity is an integer.
    pub(crate) fn is_whole(self) -> bool {
        self.nanos % NANOS == 0
    }
}

/// Factor of a suffix.
#[derive(Clone, Copy)]
enum Scale {
    Ten(i32),
    Kibi(u32),
}

fn parse_suffix(suffix: &str) -> Option<(Units, Scale)> {
    if let Some((_, power)) = DECIMAL_SUFFIXES.iter().find(|(known, _)| *known == suffix) {
        return Some((Units::Decimal, Scale::Ten(*power)));
    }
    if let Some((_, power)) = BINARY_SUFFIXES.iter().find(|(known, _)| *known == suffix) {
        return Some((Units::Binary, Scale::Kibi(*power)));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((Units::Exponent, Scale::Ten(exponent)))
}

/// The quantity in billionths, rounded up.
fn nanos(whole: &str, fraction: &str, scale: Scale) -> i128 {
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return 0;
    }
    let fraction_digits = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let (factor, power) = match scale {
        Scale::Ten(power) => (1, power),
        Scale::Kibi(power) => (1_i128 << (10 * power), 0),
    };
    let power = power.saturating_sub(fraction_digits).saturating_add(9);
    let amount = digits.parse::<i128>().ok().and_then(|digits| digits.checked_mul(factor));
    let ten = |power: u32| 10_i128.checked_pow(power);
    let scaled = match (amount, ten(power.unsigned_abs())) {
        (Some(amount), Some(ten)) if power >= 0 => amount.checked_mul(ten),
        (Some(amount), Some(ten)) => Some(amount.div_euclid(ten) + i128::from(amount % ten != 0)),
        (Some(_), None) if power < 0 => Some(1),
        _ => None,
    };
    scaled.map_or(MAX_NANOS, |nanos| nanos.min(MAX_NANOS))
}

impl fmt::Display for Quantity {
    /// Writes the canonical form: an integer with the largest possible unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.nanos / NANOS;
        if self.nanos == 0 {
            f.write_str("0")
        } else if self.units == Units::Binary && whole.abs() >= 1024 {
            let up = i128::from(self.nanos % NANOS != 0) * self.nanos.signum();
            binary(whole + up, f)
        } else {
            decimal(self.nanos, self.units == Units::Exponent, f)
        }
    }
}

fn binary(mut amount: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut suffix = "";
    for (larger, _) in BINARY_SUFFIXES {
        if amount % 1024 != 0 {
            break;
        }
        amount /= 1024;
        suffix = larger;
    }
    write!(f, "{amount}{suffix}")
}

fn decimal(mut amount: i128, as_exponent: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut units = DECIMAL_SUFFIXES.iter().peekable();
    let mut unit = ("n", -9);
    while let Some(&known) = units.next() {
        unit = known;
        if amount % 1000 != 0 || units.peek().is_none() {
            break;
        }
        amount /= 1000;
    }
    match unit {
        (_, 0) => write!(f, "{amount}"),
        (_, power) if as_exponent => write!(f, "{amount}e{power}"),
        (suffix, _) => write!(f, "{amount}{suffix}"),
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.nanos.cmp(&other.nanos))
    }
}
