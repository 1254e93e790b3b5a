//! Minor versions of Kubernetes.

use std::fmt;

/// A minor version of Kubernetes, such as 1.31: APIs come and go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    /// The number before the point.
    pub major: u32,
    /// The number after it.
    pub minor: u32,
}

impl Minor {
    /// `1.N`.
    pub(crate) const fn one(minor: u32) -> Self {
        Self { major: 1, minor }
    }

    /// Reads a version such as `1.31`, `1.31.2` or `v1.31.2+d4e5f6`; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (major, rest) = text.split_once('.')?;
        let minor = rest.split(['.', '-', '+']).next()?;
        Some(Self { major: number(major)?, minor: number(minor)? })
    }
}

/// `parse` alone would take a sign, too.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_far_as_they_matter() {
        for text in ["1.31", "1.31.2", "v1.31.2", "1.31.2-rc.1", "1.31+d4e5f6", "1.31-alpha"] {
            assert_eq!(Minor::parse(text), Some(Minor::one(31)), "{text}");
        }
        for text in ["", "1", "1.", "1.x", ".31", "1.+31", "-1.31", "1.99999999999", "vv1.31"] {
            assert_eq!(Minor::parse(text), None, "{text}");
        }
    }

    #[test]
    fn later_ones_are_greater() {
        let sorted = ["1.9", "1.16", "1.31", "2.0"].map(|text| Minor::parse(text).unwrap());
        assert!(sorted.is_sorted());
        assert_eq!(sorted.map(|minor| minor.to_string()), ["1.9", "1.16", "1.31", "2.0"]);
    }
}
