//! Distance between versions.

use semver::Version;

use crate::CannotTell;

/// Distance between the version of the cluster and the target release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skew {
    source: Version,
    target: Version,
}

impl Skew {
    /// Distance between two versions.
    pub fn between(source: Version, target: Version) -> Self {
        Self { source, target }
    }

    /// Number of minor versions that the target is ahead; 0 if it is not. The first minor version
    /// of a major version counts as the successor of the last one before. `None` if a whole major
    /// version is between them.
    pub fn minors_ahead(&self) -> Option<u64> {
        match self.target.major.checked_sub(self.source.major) {
            None => Some(0),
            Some(0) => Some(self.target.minor.saturating_sub(self.source.minor)),
            Some(1) => Some(self.target.minor.saturating_add(1)),
            Some(_) => None,
        }
    }

    /// Whether the target has an older minor version.
    pub fn is_back(&self) -> bool {
        (self.target.major, self.target.minor) < (self.source.major, self.source.minor)
    }

    /// Fails if the cluster is more minor versions behind than the check supports.
    pub fn at_most(&self, minors: u64) -> Result<(), CannotTell> {
        if self.minors_ahead().is_some_and(|ahead| ahead <= minors) {
            return Ok(());
        }
        let Self { source, target } = self;
        Err(CannotTell::VersionSkew(format!(
            "{target} supports clusters that are at most {minors} minor versions behind, but this \
             cluster runs {source}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skew(source: &str, target: &str) -> Skew {
        Skew::between(source.parse().unwrap(), target.parse().unwrap())
    }

    #[test]
    fn minors_ahead_counts_minor_versions() {
        for (source, target, ahead) in [
            ("5.0.0", "5.0.9", Some(0)),
            ("5.0.9", "5.2.0", Some(2)),
            ("5.2.0", "5.1.0", Some(0)),
            ("4.9.0", "5.0.0", Some(1)),
            ("4.9.0", "5.2.0", Some(3)),
            ("3.11.0", "5.0.0", None),
            ("6.0.0", "5.9.0", Some(0)),
        ] {
            assert_eq!(skew(source, target).minors_ahead(), ahead, "{source} {target}");
        }
        assert!(skew("5.2.0", "5.1.9").is_back());
        assert!(!skew("5.2.3", "5.2.0").is_back());
    }

    #[test]
    fn at_most_error_names_versions() {
        assert_eq!(skew("5.0.0", "5.2.0").at_most(2), Ok(()));
        insta::assert_snapshot!(skew("5.0.0", "5.3.0").at_most(2).unwrap_err(), @"5.3.0 supports clusters that are at most 2 minor versions behind, but this cluster runs 5.0.0");
        assert!(skew("3.11.0", "5.0.0").at_most(9).is_err());
    }
}
