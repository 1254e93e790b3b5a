//! Versions of programs, which follow no common rule but that numbers come first.

use std::cmp::Ordering;
use std::fmt;

/// The numbers at the beginning of a version, such as those of `v1.31.2+k3s1` or `5.14.0-427.el9`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) major: u64,
    pub(super) minor: u64,
    patch: Option<u64>,
}

impl Number {
    /// Nothing if there are fewer than two.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('v');
        let end = text.find(|it: char| it != '.' && !it.is_ascii_digit()).unwrap_or(text.len());
        let mut numbers = text[..end].split('.').map_while(|number| number.parse().ok());
        Some(Self { major: numbers.next()?, minor: numbers.next()?, patch: numbers.next() })
    }

    pub(super) fn major_minor(&self) -> (u64, u64) {
        (self.major, self.minor)
    }
}

/// A patch that is not said is the first.
impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let parts = |it: &Self| (it.major, it.minor, it.patch.unwrap_or_default());
        parts(self).partial_cmp(&parts(other))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_first() {
        for (text, expected) in [
            ("v1.31.2", Some("1.31.2")),
            ("1.28", Some("1.28")),
            ("v1.20.5+k3s1", Some("1.20.5")),
            ("5.14.0-427.13.1.el9_4.x86_64", Some("5.14.0")),
            ("6.1-custom", Some("6.1")),
            ("5", None),
            ("", None),
            ("latest", None),
            ("99999999999999999999.1", None),
        ] {
            assert_eq!(Number::read(text).map(|it| it.to_string()).as_deref(), expected, "{text}");
        }
        assert!(Number::read("5.4").unwrap() < Number::read("5.14.0").unwrap());
    }
}
