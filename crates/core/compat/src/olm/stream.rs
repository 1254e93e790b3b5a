//! Minor versions of the platform.

use std::cmp::Ordering;
use std::fmt;

use fairway_api::Version;
use fairway_api::version::RENAMED;
use serde::{Serialize, Serializer};

/// A minor version of the platform, such as 4.8. 4.23 and 5.0 are the same one.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    major: u64,
    minor: u64,
}

impl Stream {
    /// `major.minor`.
    pub const fn new(major: u64, minor: u64) -> Self {
        Self { major, minor }
    }

    /// The minor version that a release belongs to, also as a pre-release.
    pub fn of(version: &Version) -> Self {
        Self::new(version.major(), version.minor())
    }

    /// Reads what people write for it, such as `4.9`, `4.9.3` or `v4.9`; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        Version::parse_tolerant(text).ok().as_ref().map(Self::of)
    }

    /// The one that follows.
    pub fn next(self) -> Self {
        let (major, minor) = self.normal();
        Self::new(major, minor.saturating_add(1))
    }

    /// The range of versions that begins with it.
    pub fn and_later(self) -> String {
        format!(">={self}.0")
    }

    fn normal(self) -> (u64, u64) {
        let [before, after] = RENAMED;
        let own = (self.major, self.minor);
        if own == before { after } else { own }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.normal() == other.normal()
    }
}

impl Eq for Stream {}

impl PartialOrd for Stream {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Stream {
    fn cmp(&self, other: &Self) -> Ordering {
        self.normal().cmp(&other.normal())
    }
}

impl Serialize for Stream {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_release_has_two_names() {
        assert_eq!(Stream::new(4, 23), Stream::new(5, 0));
        assert!(Stream::new(4, 22) < Stream::new(5, 0) && Stream::new(4, 23) < Stream::new(5, 1));
        assert_eq!(Stream::new(4, 23).to_string(), "4.23");
    }

    #[test]
    fn the_next_one_counts_from_the_release_not_from_its_patches() {
        for (cluster, next) in [
            ("4.9.0-rc.1", "4.10"),
            ("4.9.0", "4.10"),
            ("4.9.31+x", "4.10"),
            ("4.22.5", "4.23"),
            ("4.23.1", "5.1"),
            ("5.0.3", "5.1"),
            ("5.1.0", "5.2"),
        ] {
            let version = Version::parse(cluster).unwrap();
            assert_eq!(Stream::of(&version).next().to_string(), next, "{cluster}");
        }
    }

    #[test]
    fn people_may_write_it_as_they_like() {
        for text in ["4.9", "4.9.3", "v4.9", " 4.9.0-rc.1 "] {
            assert_eq!(Stream::parse(text), Some(Stream::new(4, 9)), "{text}");
        }
        for text in ["", "4.x", "next", "4.9-rc.1"] {
            assert_eq!(Stream::parse(text), None, "{text}");
        }
    }
}
