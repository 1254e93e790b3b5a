//! Minor versions of Kubernetes.

use std::fmt;

/// A minor version of Kubernetes, such as 1.31.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesMinor {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
}

impl KubernetesMinor {
    /// Kubernetes `1.N`.
    pub(crate) const fn one(minor: u32) -> Self {
        Self { major: 1, minor }
    }

    /// Parses a version such as `1.31`, `1.31.2` or `v1.31.2+d4e5f6`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (major, rest) = text.split_once('.')?;
        let minor = rest.split(['.', '-', '+']).next()?;
        Some(Self { major: number(major)?, minor: number(minor)? })
    }
}

/// Parses digits; `str::parse` also accepts a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl fmt::Display for KubernetesMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_ignores_patch_and_build() {
        for text in ["1.31", "1.31.2", "v1.31.2", "1.31.2-rc.1", "1.31+d4e5f6", "1.31-alpha"] {
            assert_eq!(KubernetesMinor::parse(text), Some(KubernetesMinor::one(31)), "{text}");
        }
        for text in ["", "1", "1.", "1.x", ".31", "1.+31", "-1.31", "1.99999999999", "vv1.31"] {
            assert_eq!(KubernetesMinor::parse(text), None, "{text}");
        }
    }

    #[test]
    fn versions_are_ordered() {
        let sorted =
            ["1.9", "1.16", "1.31", "2.0"].map(|text| KubernetesMinor::parse(text).unwrap());
        assert!(sorted.is_sorted());
        assert_eq!(sorted.map(|minor| minor.to_string()), ["1.9", "1.16", "1.31", "2.0"]);
    }
}
