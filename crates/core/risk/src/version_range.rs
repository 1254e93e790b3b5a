//! Ranges of versions, such as `>=5.2.0 <5.4.0 || 6.x`.
//!
//! Ranges are written with releases in mind. For pre-releases there are two checks with
//! conservative results: [`VersionRange::touches`] for risks and [`VersionRange::covers`] for
//! acceptances.

use std::fmt;
use std::str::FromStr;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a range: enough for dozens of comparisons.
const MAX_BYTES: usize = 512;

/// Range of versions: alternatives separated by `||`, each with comparisons separated by commas or
/// spaces. All comparisons of an alternative must match.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Range")]
#[serde(try_from = "String", into = "String")]
pub struct VersionRange {
    text: String,
    alternatives: Vec<Vec<Comparison>>,
}

/// Reason why a text is not a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionRangeError {
    /// The text is too long.
    #[error("the range has {0} bytes; the limit is {MAX_BYTES} bytes")]
    TooLong(usize),
    /// A part is not a comparison.
    #[error("{0:?} is not a comparison such as >=5.2.0, <5.4, ~5.2.1, ^5.2.0 or 5.2.x")]
    Malformed(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Comparison {
    AtLeast(Version),
    Above(Version),
    AtMost(Version),
    Below(Version),
    Not(Version),
    /// From the first version to before the second. Pre-releases count as their release.
    Stream(Version, Version),
}

impl VersionRange {
    /// Whether the version or its release is in the range. Used for the targets of risks.
    pub fn touches(&self, version: &Version) -> bool {
        self.contains(version) || self.contains(&release_of(version))
    }

    /// Whether both the version and its release are in the range. Used for accepted versions.
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

impl FromStr for VersionRange {
    type Err = VersionRangeError;

    fn from_str(text: &str) -> Result<Self, VersionRangeError> {
        if text.len() > MAX_BYTES {
            return Err(VersionRangeError::TooLong(text.len()));
        }
        let alternatives = text.split("||").map(alternative).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), alternatives })
    }
}

/// Comparisons that must all match. At least one is required: an empty alternative is an error.
fn alternative(text: &str) -> Result<Vec<Comparison>, VersionRangeError> {
    let malformed = |part: &str| VersionRangeError::Malformed(part.to_owned());
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

/// The comparisons of an operator and a version, which may be partial.
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

/// The first version of `5`, `5.x`, `5.2` or `5.2.x`, and the first version after it.
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

impl TryFrom<String> for VersionRange {
    type Error = VersionRangeError;

    fn try_from(text: String) -> Result<Self, VersionRangeError> {
        text.parse()
    }
}

impl From<VersionRange> for String {
    fn from(range: VersionRange) -> Self {
        range.text
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> VersionRange {
        text.parse().unwrap()
    }

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn range_contains_versions() {
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
    fn pre_release_is_touched_by_either_and_covered_by_both() {
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
    fn invalid_range_is_rejected() {
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
            assert!(text.parse::<VersionRange>().is_err(), "{text:?}");
        }
        let error = "5.2.0 or later".parse::<VersionRange>().unwrap_err();
        insta::assert_snapshot!(error, @r#""or" is not a comparison such as >=5.2.0, <5.4, ~5.2.1, ^5.2.0 or 5.2.x"#);
        let error = "5".repeat(513).parse::<VersionRange>().unwrap_err();
        insta::assert_snapshot!(error, @"the range has 513 bytes; the limit is 512 bytes");
    }
}
