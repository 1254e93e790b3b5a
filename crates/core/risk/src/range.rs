//! Ranges of versions, such as `>=5.2.0 <5.4.0 || 6.x`.
//!
//! A pre-release is both a version of its own and a form of the release it leads to. Ranges are
//! written with releases in mind, so there are two questions, and each has the careful answer.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a range: enough for dozens of comparisons.
const MAX_BYTES: usize = 512;

/// Range of versions: alternatives separated by `||`, each with comparisons separated by commas or
/// blanks. All comparisons of an alternative have to match.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Range {
    text: String,
    alternatives: Vec<Vec<Comparison>>,
}

/// Why a text is not a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// It is longer than any range.
    #[error("the range has {0} bytes; the limit is {MAX_BYTES} bytes")]
    TooLong(usize),
    /// A part of it compares nothing.
    #[error("{0:?} is not a comparison such as >=5.2.0, <5.4, ~5.2.1, ^5.2.0 or 5.2.x")]
    Malformed(String),
}

#[derive(Clone, Debug)]
enum Comparison {
    AtLeast(Version),
    Above(Version),
    AtMost(Version),
    Below(Version),
    Not(Version),
    /// From the first to before the second, pre-releases counting as what they lead to.
    Stream(Version, Version),
}

impl Range {
    /// Whether the version, or the release that it leads to, is in the range. This is the
    /// question about what a risk concerns.
    pub fn touches(&self, version: &Version) -> bool {
        self.contains(version) || self.contains(&release_of(version))
    }

    /// Whether the version and the release that it leads to are in the range. This is the
    /// question about what somebody accepted.
    pub fn covers(&self, version: &Version) -> bool {
        self.contains(version) && self.contains(&release_of(version))
    }

    fn contains(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| all.iter().all(|one| one.holds(version)))
    }
}

fn release_of(version: &Version) -> Version {
    Version::new(version.major(), version.minor(), version.patch())
}

impl Comparison {
    fn holds(&self, version: &Version) -> bool {
        match self {
            Self::AtLeast(other) => version >= other,
            Self::Above(other) => version > other,
            Self::AtMost(other) => version <= other,
            Self::Below(other) => version < other,
            Self::Not(other) => version != other,
            Self::Stream(first, after) => (first..after).contains(&&release_of(version)),
        }
    }
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        if text.len() > MAX_BYTES {
            return Err(RangeError::TooLong(text.len()));
        }
        let alternatives = text.split("||").map(alternative).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), alternatives })
    }
}

/// Comparisons that all hold. One of them at least: nothing at all is a mistake, not everything.
fn alternative(text: &str) -> Result<Vec<Comparison>, RangeError> {
    let malformed = |part: &str| RangeError::Malformed(part.to_owned());
    let mut comparisons = Vec::new();
    let mut operator = "";
    let mut found = false;
    for word in text.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty()) {
        let version_at = word.find(|letter| !"=<>!~^".contains(letter)).unwrap_or(word.len());
        let (sign, version) = word.split_at(version_at);
        if !operator.is_empty() && !sign.is_empty() {
            return Err(malformed(word));
        }
        if !sign.is_empty() {
            operator = sign;
        }
        if !version.is_empty() {
            comparisons.extend(compared(operator, version).ok_or_else(|| malformed(word))?);
            operator = "";
            found = true;
        }
    }
    if !found || !operator.is_empty() {
        return Err(malformed(text.trim()));
    }
    Ok(comparisons)
}

/// What an operator and a version say, of which the last parts may be missing.
fn compared(operator: &str, text: &str) -> Option<Vec<Comparison>> {
    use Comparison::{Above, AtLeast, AtMost, Below, Not, Stream};
    if matches!(text, "*" | "x" | "X") {
        return matches!(operator, "" | "=" | "==" | ">=" | "<=").then(Vec::new);
    }
    if let Ok(version) = Version::parse(text) {
        let next_minor = Version::new(version.major(), version.minor().checked_add(1)?, 0);
        return Some(match operator {
            "" | "=" | "==" => vec![AtLeast(version.clone()), AtMost(version)],
            "!=" => vec![Not(version)],
            ">=" => vec![AtLeast(version)],
            ">" => vec![Above(version)],
            "<=" => vec![AtMost(version)],
            "<" => vec![Below(version)],
            "~" => vec![AtLeast(version), Below(next_minor)],
            "^" if version.major() == 0 => vec![AtLeast(version), Below(next_minor)],
            "^" => {
                let next_major = Version::new(version.major().checked_add(1)?, 0, 0);
                vec![AtLeast(version), Below(next_major)]
            }
            _ => return None,
        });
    }
    let (first, after) = stream(text)?;
    Some(match operator {
        "" | "=" | "==" | "~" => vec![Stream(first, after)],
        "^" => {
            let next_major = Version::new(first.major().checked_add(1)?, 0, 0);
            vec![AtLeast(first), Below(next_major)]
        }
        ">=" => vec![AtLeast(first)],
        ">" => vec![AtLeast(after)],
        "<=" => vec![Below(after)],
        "<" => vec![Below(first)],
        _ => return None,
    })
}

/// The first version of `5`, `5.x`, `5.2` or `5.2.x`, and the first one after all of them.
fn stream(text: &str) -> Option<(Version, Version)> {
    let mut parts: Vec<&str> = text.split('.').collect();
    while let Some("*" | "x" | "X") = parts.last().copied() {
        parts.pop();
    }
    let numbers: Vec<u64> = parts.iter().map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match (numbers.as_slice(), text.split('.').count()) {
        ([major], 1..=3) => {
            Some((Version::new(*major, 0, 0), Version::new(major.checked_add(1)?, 0, 0)))
        }
        ([major, minor], 2..=3) => {
            Some((Version::new(*major, *minor, 0), Version::new(*major, minor.checked_add(1)?, 0)))
        }
        _ => None,
    }
}

impl TryFrom<String> for Range {
    type Error = RangeError;

    fn try_from(text: String) -> Result<Self, RangeError> {
        text.parse()
    }
}

impl From<Range> for String {
    fn from(range: Range) -> Self {
        range.text
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Range {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Range {}

impl PartialOrd for Range {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Range {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        text.parse().unwrap()
    }

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn what_is_in_a_range() {
        for (text, inside, outside) in [
            ("5.2.1", &["5.2.1", "5.2.1+amd64"][..], &["5.2.0", "5.2.2"][..]),
            (">=5.2.0 <5.4.0", &["5.2.0", "5.3.9"], &["5.1.9", "5.4.0"]),
            (">= 5.2.0, < 5.4", &["5.2.0", "5.3.9"], &["5.1.9", "5.4.0"]),
            ("5.2", &["5.2.0", "5.2.99"], &["5.1.9", "5.3.0"]),
            ("5.x || 7.1.x", &["5.0.0", "5.9.9", "7.1.3"], &["6.0.0", "7.2.0", "4.9.0"]),
            ("~5.2.3", &["5.2.3", "5.2.9"], &["5.2.2", "5.3.0"]),
            ("^5.2.3", &["5.2.3", "5.9.0"], &["5.2.2", "6.0.0"]),
            (">5.2 <=5.4", &["5.3.0", "5.4.9"], &["5.2.9", "5.5.0"]),
            ("!=5.2.3", &["5.2.2"], &["5.2.3"]),
            ("*", &["0.0.0", "9.9.9"], &[]),
        ] {
            let range = range(text);
            for version in inside.iter().map(|text| version(text)) {
                assert!(range.touches(&version) && range.covers(&version), "{text}: {version}");
            }
            for version in outside.iter().map(|text| version(text)) {
                assert!(!range.touches(&version) && !range.covers(&version), "{text}: {version}");
            }
        }
    }

    #[test]
    fn a_pre_release_is_touched_by_either_and_covered_by_both() {
        let candidate = version("5.2.0-rc.1");
        for text in [">=5.2.0", "<5.2.0", "5.2.0", "5.1.x || 5.2.0"] {
            assert!(range(text).touches(&candidate), "{text}");
            assert!(!range(text).covers(&candidate), "{text}");
        }
        for text in [">=5.1.0", "5.2.x"] {
            assert!(range(text).covers(&candidate), "{text}");
        }
        for text in [">=5.3.0", "5.1.x"] {
            assert!(!range(text).touches(&candidate), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_range() {
        for text in [
            "",
            " ",
            "||",
            "5.2 ||",
            ">=",
            ">=<5",
            "=> 5.2.0",
            "5.2.3.4",
            "latest",
            "5.x.1",
            "x.5",
            "!=5.2",
            ">x",
            "5.2.0 - 5.3.0",
            "18446744073709551615",
        ] {
            assert!(text.parse::<Range>().is_err(), "{text:?}");
        }
        let error = "5.2.0 or later".parse::<Range>().unwrap_err();
        insta::assert_snapshot!(error, @r#""or" is not a comparison such as >=5.2.0, <5.4, ~5.2.1, ^5.2.0 or 5.2.x"#);
        let error = "5".repeat(513).parse::<Range>().unwrap_err();
        insta::assert_snapshot!(error, @"the range has 513 bytes; the limit is 512 bytes");
    }
}
